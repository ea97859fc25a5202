import numpy as np
import pytest

from tightrope.errors import FormatError, UsageError
from tightrope_mario.training.export import write_onnx
from tightrope_mario.training.learner import QLearner, build_network
from tightrope_mario.training.memory import Memory, choose_device
from tightrope_mario.training.recipe import find_recipe

torch = pytest.importorskip("torch")


def filled_memory(ticks=12, games=2, played=20, seed=0):
    """Frames that say when they were seen; episodes of 7 steps."""
    generator = np.random.default_rng(seed)
    memory, history = Memory(ticks, games, "cpu"), []
    for tick in range(played):
        age = np.full(games, tick % 7, np.int32)
        frame = np.stack([np.full((84, 84), 10 * game + tick, np.uint8) for game in range(games)])
        memory.write_situation(frame, age)
        over = np.full(games, tick % 7 == 6, np.uint8)
        reward = generator.random(games).astype(np.float32)
        action = generator.integers(2, size=games).astype(np.int32)
        memory.write_step(action, reward, over)
        history.append((frame, action, reward, over))
    return memory, history


def test_stacks_repeat_the_first_frame_of_an_episode():
    memory, _ = filled_memory()
    ticks, games = torch.tensor([13, 14, 15, 17, 19]), torch.tensor([0, 1, 0, 1, 0])
    seen = (memory.stacks(ticks, games)[:, :, 0, 0] * 255).round().int().tolist()
    assert seen == [[10, 11, 12, 13], [24, 24, 24, 24], [14, 14, 14, 15], [24, 25, 26, 27], [16, 17, 18, 19]]


def small_learner(actions=2, **changes):
    recipe = find_recipe("fast", **{"workers": 1, "lanes": 2, "memory_ticks": 12, "batch": 8, **changes})
    return QLearner(recipe, actions, "cpu", seed=0)


def test_only_complete_and_kept_situations_are_drawn():
    learner = small_learner(batch=2000)
    learner.memory, _ = filled_memory()
    learner._drawable[:] = torch.tensor(learner.memory.drawable(3))
    ticks, games = learner._draw()
    assert (int(ticks.min()), int(ticks.max())) == (12, 17)
    assert set(games.tolist()) == {0, 1}


def test_goals_are_n_step_returns_of_double_q_learning():
    learner = small_learner()
    learner.memory, history = filled_memory()
    torch.nn.init.normal_(learner.target[9].bias)
    for tick in range(12, 18):
        goal = learner._goals(torch.tensor([tick]), torch.tensor([1]))
        expected, alive = 0.0, 1.0
        for step in range(3):
            expected += 0.95**step * alive * history[tick + step][2][1] / 20
            alive *= 1 - history[tick + step][3][1]
        if alive:
            stack = learner.memory.stacks(torch.tensor([tick + 3]), torch.tensor([1]))
            best = learner.network(stack).argmax(1)
            expected += 0.95**3 * float(learner.target(stack)[0, best].detach())
        assert float(goal) == pytest.approx(expected, abs=1e-5)


def test_goals_count_with_slips():
    careless, careful = small_learner(), small_learner(slips=0.5)
    careless.memory, _ = filled_memory()
    careful.memory, _ = filled_memory()
    for learner in (careless, careful):
        learner.target[9].bias.data = torch.tensor([0.0, 100.0])
        learner.network.load_state_dict(learner.target.state_dict())
    tick, game = torch.tensor([14]), torch.tensor([1])
    # No episode of seven steps ends between; half of the time the action is drawn from two, and one of them pays 100.
    lost = careless._goals(tick, game) - careful._goals(tick, game)
    assert float(lost) == pytest.approx(0.95**3 * 0.5 * 50, rel=0.01)


def test_what_is_exported_is_the_running_mean(tmp_path):
    learner = small_learner(averaging=0.5, learning_rate=1e-2)
    learner.memory, _ = filled_memory()
    before = learner.weights()["9.bias"]
    learner.update()
    now = learner.network[9].bias.detach().numpy()
    np.testing.assert_allclose(learner.weights()["9.bias"], (before + now) / 2, rtol=1e-5)
    learner.save(tmp_path / "checkpoint.pt", {})
    another = small_learner(averaging=0.5)
    another.load(tmp_path / "checkpoint.pt")
    np.testing.assert_array_equal(another.weights()["9.bias"], learner.weights()["9.bias"])
    assert not np.array_equal(another.weights()["9.bias"], now)


def test_it_learns_which_action_pays():
    learner = small_learner(learning_rate=1e-3, target_every=20)
    for tick in range(11):
        learner.memory.write_situation(np.full((2, 84, 84), 100, np.uint8), np.zeros(2, np.int32))
        action = np.array([tick % 2, (tick + 1) % 2], np.int32)
        learner.memory.write_step(action, (20.0 * action).astype(np.float32), np.ones(2, np.uint8))
    for _ in range(60):
        learner.update()
    learner.memory.write_situation(np.full((2, 84, 84), 100, np.uint8), np.zeros(2, np.int32))
    assert learner.greedy_actions().tolist() == [1, 1]
    assert learner.mean_loss() > 0
    assert learner.mean_loss() is None, "nothing was learned since"


def test_a_checkpoint_brings_everything_back(tmp_path):
    learner = small_learner()
    learner.memory, _ = filled_memory()
    for _ in range(3):
        learner.update()
    learner.save(tmp_path / "checkpoint.pt", {"steps": 7})
    other = small_learner()
    assert other.load(tmp_path / "checkpoint.pt") == {"steps": 7}
    assert other.updates == 3
    assert all(np.array_equal(a, b) for a, b in zip(learner.weights().values(), other.weights().values(), strict=True))
    with pytest.raises(FormatError, match="action set"):
        small_learner(actions=5).load(tmp_path / "checkpoint.pt")


@pytest.mark.parametrize("half", [False, True])
def test_the_exported_network_is_the_trained_one(tmp_path, half):
    runtime = pytest.importorskip("onnxruntime")
    torch.manual_seed(1)
    network = build_network(7)
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    write_onnx(tmp_path / "agent.onnx", weights, {"actions": "basic"}, half=half)
    session = runtime.InferenceSession(tmp_path / "agent.onnx")
    pictures = np.random.default_rng(0).integers(256, size=(5, 4, 84, 84)).astype(np.uint8)
    values = session.run(None, {"observation": pictures})[0]
    with torch.no_grad():
        expected = network(torch.from_numpy(pictures).float() / 255).numpy()
    assert values.shape == (5, 7)
    np.testing.assert_allclose(values, expected, atol=1e-3 if half else 1e-5)
    assert session.get_modelmeta().custom_metadata_map["actions"] == "basic"
    assert (tmp_path / "agent.onnx").stat().st_size < (3.5e6 if half else 7e6)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    with pytest.raises(UsageError, match="device='cpu'"):
        choose_device("cuda")
