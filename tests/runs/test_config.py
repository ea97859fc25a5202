from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tightrope.errors import UsageError
from tightrope.runs.configuration.config import CampaignConfig
from tightrope.runs.configuration.configfile import commented_example, json_schema, load_config
from tightrope.settings import AgentConfig


def write(tmp_path: Path, text: str, name: str = "campaign.yaml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_written_example_reads_back_as_the_defaults(tmp_path: Path) -> None:
    config = CampaignConfig(task="FrozenLake-v1", agents=(AgentConfig(source="agent.onnx"),))
    assert load_config(write(tmp_path, commented_example(config))) == config


def test_every_setting_is_explained() -> None:
    text = commented_example(CampaignConfig(task="FrozenLake-v1", agents=(AgentConfig(source="a.onnx"),)))
    for line in text.splitlines():
        assert not line or "#" in line or line.endswith(":")


@pytest.mark.parametrize(("written", "share"), [("5%", 0.05), ("0.05", 0.05), ("1/20", 0.05), ("'0.5 %'", 0.005)])
def test_shares_are_written_as_on_the_command_line(tmp_path: Path, written: str, share: float) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"task: t\neffort: {written}\nsafety: {{max_fail: {written}}}\nsearch: {{seconds: 3}}\n")
    config = load_config(path)
    assert config.effort == config.safety.max_fail == pytest.approx(share)
    path.write_text("task: t\nsafety: {max_fail: 500%}\nsearch: {seconds: 5%}\n")
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert "'safety.max_fail' is 5.0: it must be between 0 and 1" in str(caught.value)
    assert "'search.seconds' is '5%': it must be a number" in str(caught.value)


def test_toml_works_too(tmp_path: Path) -> None:
    text = 'task = "FrozenLake-v1"\n[[agents]]\nsource = "agent.zip"\n[safety]\nrepetitions = 3\n'
    config = load_config(write(tmp_path, text, "campaign.toml"))
    assert config.safety.repetitions == 3
    assert config.agents[0].source == "agent.zip"


def test_a_misspelt_key_names_its_line_and_the_nearest_right_one(tmp_path: Path) -> None:
    path = write(tmp_path, "task: FrozenLake-v1\nsafety:\n  length: 40\n  repetition: 3\n")
    with pytest.raises(
        UsageError, match=r"line 4: there is no setting 'safety.repetition'; did you mean 'repetitions'"
    ):
        load_config(path)


def test_a_key_that_is_no_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 2: 'execution.0' is 0: keys should be strings"):
        load_config(write(tmp_path, "task: FrozenLake-v1\nexecution: {0: 1}\n"))


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("mutation_stop: 0", "'fuzzing.mutation_stop' is 0: it must be above 0 and at most 1; the default is 0.2"),
        ("weights: [2, -1, 1]", "'fuzzing.weights.1' is -1: it must be 0 or more"),
    ],
)
def test_what_fuzzing_refuses_is_told_before_the_search(tmp_path: Path, setting: str, told: str) -> None:
    path = write(tmp_path, f"task: FrozenLake-v1\nfuzzing:\n  {setting}\n")
    with pytest.raises(UsageError, match="line 3") as caught:
        load_config(path)
    assert told in str(caught.value)


def test_toml_names_lines_too(tmp_path: Path) -> None:
    text = (
        'task = "FrozenLake-v1"\n'
        "execution = { bakend = 'ray' }\n"
        "[[agents]]\n"
        'source = "a.zip"\n'
        "[[agents]]\n"
        'source = "b.zip"\n'
        "epsilon = 2\n"
        "[safety]  # step 2\n"
        "repetition = 3\n"
    )
    with pytest.raises(UsageError) as caught:
        load_config(write(tmp_path, text, "campaign.toml"))
    message = str(caught.value)
    assert "line 2: there is no setting 'execution.bakend'; did you mean 'backend'" in message
    assert "line 7: 'agents.1.epsilon' is 2" in message
    assert "line 9: there is no setting 'safety.repetition'" in message


def test_broken_toml_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not valid TOML.*line 2"):
        load_config(write(tmp_path, 'task = "a"\n= 3\n', "campaign.toml"))


def test_a_misspelt_key_of_an_agent(tmp_path: Path) -> None:
    path = write(tmp_path, "task: FrozenLake-v1\nagents:\n  - source: a.onnx\n    epsilom: 0.1\n")
    with pytest.raises(UsageError, match=r"line 4: .*did you mean 'epsilon'"):
        load_config(path)


def test_a_wrong_type_names_its_line_and_the_rule(tmp_path: Path) -> None:
    path = write(tmp_path, "task: FrozenLake-v1\nsafety:\n  repetitions: many\n")
    with pytest.raises(UsageError, match=r"line 3: 'safety.repetitions' is 'many': it must be a whole number; .* 10"):
        load_config(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "safety:\n  max_fail: 0\nseed: 1\nsafety:\n  length: 3\n",
            ["line 5: 'safety' is there twice (first in line 2)"],
        ),
        ("safety: {length: 3, length: 4}\n", ["line 2: 'length' is there twice (first in line 2)"]),
        (
            "agents:\n  - source: a\n    trust: true\n    source: b\nseed: 1\nseed: 2\n",
            ["line 5: 'source' is there twice (first in line 3)", "line 7: 'seed' is there twice (first in line 6)"],
        ),
    ],
)
def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, text: str, told: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        load_config(write(tmp_path, f"task: FrozenLake-v1\n{text}"))
    assert [line.partition(", ")[2].partition(";")[0] for line in str(caught.value).splitlines()] == told


def test_the_same_key_in_two_sections_or_in_two_merges_is_no_repetition(tmp_path: Path) -> None:
    text = "task: FrozenLake-v1\nsafety: &s {repetitions: 2}\nsearch: {repetitions: 3}\noptions: {<<: *s, <<: *s}\n"
    config = load_config(write(tmp_path, text))
    assert (config.safety.repetitions, config.search.repetitions) == (2, 3)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.yaml", "agents: [ag:careful]", "line 2: 'agents.0' is 'ag:careful': it is a table; write `- source: ag:c"),
        ("a.yaml", "agents: {source: a}", "'agents' is {'source': 'a'}: it is a list; begin each entry with `- `"),
        ("a.yaml", "safety:\n  suites: simple", "line 3: 'safety.suites' is 'simple': it is a list, as in `[simple]`"),
        ("a.yaml", "fuzzing:\n  weights: 3", "line 3: 'fuzzing.weights' is 3: it is a list"),
        (
            "a.toml",
            "agents = ['a']",
            "'agents.0' is 'a': it is a table; write `[[agents]]`, and `source = \"a\"` below",
        ),
        ("a.toml", "safety.suites = 'simple'", "'safety.suites' is 'simple': it is a list, as in `[\"simple\"]`"),
    ],
)
def test_what_should_be_a_list_or_an_entry_of_one(tmp_path: Path, name: str, text: str, told: str) -> None:
    task = "task = 'FrozenLake-v1'" if name.endswith("toml") else "task: FrozenLake-v1"
    with pytest.raises(UsageError) as caught:
        load_config(write(tmp_path, f"{task}\n{text}\n", name))
    assert told in str(caught.value)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "safety:\n  length: 0\n  wrong: 1\n")
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "task: [unclosed\n"])
def test_what_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        load_config(write(tmp_path, text))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_config(tmp_path / "none.yaml")


def test_the_schema_knows_every_section() -> None:
    schema = json.loads(json_schema())
    assert set(schema["properties"]) == set(CampaignConfig.model_fields)
    assert schema["additionalProperties"] is False


def test_the_example_is_plain_yaml() -> None:
    content = yaml.safe_load(commented_example(CampaignConfig(task="FrozenLake-v1")))
    assert CampaignConfig.model_validate(content) == CampaignConfig(task="FrozenLake-v1")
