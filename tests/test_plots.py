"""Pictures: what is drawn is where and how large it should be, and a file is the same on every run."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from superwords import plots
from superwords.errors import InputError
from superwords.plots import clouds, style

WEIGHTS = {
    "medicare": 0.9,
    "premiums": 0.7,
    "benefits": 0.4,
    "reconciliation bill": 0.4,
    "<script>alert(1)</script>": 0.3,
    "$5$ per month": 0.2,
    "правительство": 0.1,
    "a": 0.01,
}


def drawn(axes) -> dict[str, Text]:
    return {text.get_text(): text for text in axes.texts}


def ink_centers(axes) -> dict[str, tuple[float, float]]:
    centers = {}
    for text in axes.texts:
        left, bottom, wide, tall = clouds.ink_box(text.get_text(), text.get_fontproperties())
        size = text.get_fontsize()
        x, y = text.get_position()
        centers[text.get_text()] = (x + size * (left + wide / 2), y + size * (bottom + tall / 2))
    return centers


def test_a_cloud_draws_every_word_as_text_with_area_for_weight() -> None:
    axes = plots.cloud(WEIGHTS, "a $title$").axes[0]
    words = drawn(axes)
    assert set(words) == set(WEIGHTS)
    assert axes.get_title() == "a $title$"
    largest = words["medicare"].get_fontsize()
    assert words["benefits"].get_fontsize() == pytest.approx(largest * math.sqrt(0.4 / 0.9))
    assert words["a"].get_fontsize() == pytest.approx(largest * clouds.SMALLEST)


def test_words_keep_apart_and_inside_the_panel() -> None:
    weights = {f"word{i}": 1 / (1 + i) for i in range(60)}
    figure = plots.cloud(weights)
    figure.canvas.draw()
    axes = figure.axes[0]
    frame = axes.get_window_extent()
    boxes = []
    for text in axes.texts:
        left, bottom, wide, tall = clouds.ink_box(text.get_text(), text.get_fontproperties())
        size = text.get_fontsize()
        x, y = text.get_position()
        boxes.append((x + size * left, y + size * bottom, size * wide, size * tall))
        assert frame.contains(*axes.transData.transform(boxes[-1][:2]))
        assert frame.contains(*axes.transData.transform((boxes[-1][0] + boxes[-1][2], boxes[-1][1] + boxes[-1][3])))
    assert len(boxes) == 60
    for (x, y, w, h), (a, b, c, d) in combinations(boxes, 2):
        assert x + w <= a or a + c <= x or y + h <= b or b + d <= y


def test_a_pair_shares_its_layout_and_its_scale() -> None:
    ours = {"care": 0.8, "cost": 0.4, "only here": 0.2}
    theirs = {"care": 0.2, "cost": 0.4, "only there": 0.6}
    left, right = plots.cloud_pair(ours, theirs, ["Democrats", "Republicans"]).axes
    first, second = ink_centers(left), ink_centers(right)
    assert set(first) == set(second) == set(ours) | set(theirs)
    for word, center in first.items():
        assert center == pytest.approx(second[word])
    assert drawn(left)["cost"].get_fontsize() == pytest.approx(drawn(right)["cost"].get_fontsize())
    assert drawn(left)["care"].get_fontsize() == pytest.approx(2 * drawn(right)["care"].get_fontsize())
    assert drawn(right)["only here"].get_color() == style.FAINT
    assert drawn(left)["only here"].get_color() != style.FAINT


def test_a_grid_has_a_panel_per_cloud_and_says_when_one_is_empty() -> None:
    figure = plots.cloud_grid([WEIGHTS, {}, {"x": 1.0}, {"y": 0.0}], list("abcd"), columns=3)
    assert [axes.get_title() for axes in figure.axes] == list("abcd")
    assert set(drawn(figure.axes[1])) == set(drawn(figure.axes[3])) == {"no words"}


def test_a_crowded_cloud_keeps_the_heaviest_hundred() -> None:
    words = drawn(plots.cloud({f"w{i:03d}": 300.0 - i for i in range(300)}).axes[0])
    assert set(words) == {f"w{i:03d}" for i in range(100)}


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_named(weight: float) -> None:
    with pytest.raises(InputError, match="'costs'"):
        plots.cloud({"costs": weight})


def test_titles_must_match() -> None:
    with pytest.raises(InputError, match="2 titles for 1"):
        plots.cloud_grid([WEIGHTS], ["a", "b"])


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_file_is_whole_and_the_same_each_time(tmp_path, suffix: str) -> None:
    paths = [plots.save_figure(plots.cloud(WEIGHTS), tmp_path / f"{i}.{suffix}") for i in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert len(paths[0].read_bytes()) < 120_000
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"0.{suffix}", f"1.{suffix}"]
    if suffix == "svg":
        assert b"<script>" not in paths[0].read_bytes()


def test_a_picture_that_cannot_be_written_is_one_sentence(tmp_path) -> None:
    figure = plots.histogram([1, 2], "n")
    with pytest.raises(InputError, match=r"must end in \.png, \.svg or \.pdf"):
        plots.save_figure(figure, tmp_path / "x.jpg")
    with pytest.raises(InputError, match="cannot be written"):
        plots.save_figure(figure, tmp_path / "nowhere" / "x.png")


def test_characters_no_font_covers_are_boxes_with_one_warning(monkeypatch) -> None:
    monkeypatch.setattr(style, "system_fonts", lambda: ())
    style.covering_font.cache_clear()
    with pytest.warns(UserWarning, match="No installed font covers 2 of the texts") as caught:
        axes = plots.cloud({"漢字": 1.0, "日本": 0.5, "plain": 0.3}).axes[0]
    style.covering_font.cache_clear()
    assert len(caught) == 1
    assert sorted(text.get_text() for text in axes.texts) == ["plain", "□□", "□□"]


def test_a_system_font_is_taken_when_it_covers_the_word(monkeypatch) -> None:
    other = style.DEFAULT_FONT.replace("DejaVuSans.ttf", "STIXGeneral.ttf")
    only_there = sorted(style.covered_characters(other) - style.covered_characters(style.DEFAULT_FONT))
    only_there = [ch for ch in only_there if ch.isalpha()]
    monkeypatch.setattr(style, "system_fonts", lambda: (__file__, other))
    style.covering_font.cache_clear()
    text, font = style.drawable([only_there[0]])[only_there[0]]
    style.covering_font.cache_clear()
    assert (text, font.get_file()) == (only_there[0], other)


def test_histogram_has_a_bar_per_whole_number() -> None:
    axes = plots.histogram([1, 1, 1, 2, 4], "concepts per word", "words").axes[0]
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}
    assert {k: v for k, v in bars.items() if v} == {1: 3, 2: 1, 4: 1}
    assert axes.get_legend().get_texts()[0].get_text() == "median 1"
    with pytest.raises(InputError, match="at least one number"):
        plots.histogram([], "n")


def test_a_wide_histogram_keeps_every_value() -> None:
    values = np.arange(0, 5000, 7)
    bars = plots.histogram(values, "n").axes[0].patches
    assert sum(bar.get_height() for bar in bars) == len(values)
    assert len(bars) <= 61


def test_prevalence_draws_each_interval_at_its_concept() -> None:
    table = pd.DataFrame(
        [("jobs", "D", 0.2, 0.1, 0.4), ("jobs", "R", 0.5, 0.45, 0.6), ("care", "D", 0.3, 0.2, 0.35)],
        columns=["concept", "group", "prevalence", "low", "high"],
    )
    axes = plots.prevalence_by_group(table).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["jobs", "care"]
    dots, bars = axes.lines[0], axes.collections[0]
    assert list(dots.get_xdata()) == [0.2, 0.3]
    assert [segment[:, 0].tolist() for segment in bars.get_segments()] == [
        pytest.approx([0.1, 0.4]),
        pytest.approx([0.2, 0.35]),
    ]
    many = pd.concat([table.assign(group=f"group {k}") for k in range(9)])
    with pytest.raises(InputError, match="at most 8 groups"):
        plots.prevalence_by_group(many)
    with pytest.raises(InputError, match="'high'"):
        plots.prevalence_by_group(table.drop(columns="high"))


def test_traces_draw_each_chain_and_name_rhat() -> None:
    values = np.arange(12.0).reshape(3, 4)
    figure = plots.traces({"log_joint": values, "n_concepts": values[:, ::-1]}, {"log_joint": 1.0234})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["log_joint (R-hat 1.023)", "n_concepts"]
    for line, expected in zip(figure.axes[1].lines, values[:, ::-1]):
        assert line.get_ydata().tolist() == expected.tolist()
    with pytest.raises(InputError, match="'x' has 1"):
        plots.traces({"x": [1, 2, 3]})


def test_panels_show_one_as_white_and_zero_as_black() -> None:
    from experiments.synthetic import concept_panels

    figure = concept_panels([[[1.0, 0.0]], [[0.5, 0.5]]], ["truth", "found"])
    image = figure.axes[0].images[0]
    white, black = image.cmap(image.norm(np.array([1.0, 0.0])))
    assert white.tolist() == [1, 1, 1, 1]
    assert black.tolist() == [0, 0, 0, 1]
    assert [axes.get_title() for axes in figure.axes] == ["truth", "found"]
