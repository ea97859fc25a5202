"""The report: one HTML file to show to others, and the same results for machines."""

from tightrope.report.charts.maps import map_picture
from tightrope.report.results import AgentInfo, Finding, MapPicture, Published, Results, RunResults, StepCost
from tightrope.report.views import CaseView, Place, SuiteView
from tightrope.report.writers.resultfile import results_to_json
from tightrope.report.writers.writing import write_report

__all__ = [
    "AgentInfo",
    "CaseView",
    "Finding",
    "MapPicture",
    "Place",
    "Published",
    "Results",
    "RunResults",
    "StepCost",
    "SuiteView",
    "map_picture",
    "results_to_json",
    "write_report",
]
