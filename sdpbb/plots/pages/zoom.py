"""Zoom of the drawings of a page: the one script that is in it."""

from __future__ import annotations

from sdpbb.runtime.markup import Markup, element

BUTTONS = (
    ("in", "Zoom in", "+"),
    ("out", "Zoom out", "\N{MINUS SIGN}"),
    ("all", "Show all", "1:1"),
)

SCRIPT = """
for (const figure of document.querySelectorAll("figure.zooms")) {
  const svg = figure.querySelector("svg[role=img]");
  const whole = svg.viewBox.baseVal, all = [whole.x, whole.y, whole.width, whole.height];
  let view = all.slice(), from = null;
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  const at = event => {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  const zoom = (factor, x = 0.5, y = 0.5) => {
    const width = Math.min(all[2], view[2] * factor), height = width * all[3] / all[2];
    move(view[0] + x * (view[2] - width), view[1] + y * (view[3] - height), width, height);
  };
  const move = (x, y, width, height) => {
    view = [
      Math.max(all[0], Math.min(x, all[0] + all[2] - width)),
      Math.max(all[1], Math.min(y, all[1] + all[3] - height)), width, height];
    show();
  };
  const act = {
    in: () => zoom(1 / 1.5), out: () => zoom(1.5), all: () => { view = all.slice(); show(); },
  };
  for (const button of figure.querySelectorAll("button")) {
    button.addEventListener("click", act[button.value]);
  }
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1 / 1.2 : 1.2, ...at(event));
  }, {passive: false});
  svg.addEventListener("pointerdown", event => {
    if (view[2] === all[2]) return;
    from = [at(event), view.slice()];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", event => {
    if (!from) return;
    const to = at(event), [[x, y], [left, top, width, height]] = from;
    move(left + (x - to[0]) * width, top + (y - to[1]) * height, width, height);
  });
  svg.addEventListener("pointerup", () => { from = null; });
  figure.classList.add("ready");
}
"""


def zooming_figure(drawing: Markup, caption: str) -> Markup:
    """Return a figure whose drawing can be zoomed by buttons, and with the wheel and Ctrl.

    Without scripts it is as other figures, and has no buttons.
    """
    buttons = Markup.joined(
        element("button", sign, type="button", value=value, title=name, aria_label=name)
        for value, name, sign in BUTTONS
    )
    how = "Ctrl and the wheel zoom, dragging moves; a point tells its name under the pointer."
    parts = [
        element("div", buttons, class_="buttons", role="group", aria_label="Zoom"),
        element("div", drawing, class_="scroll"),
        element("figcaption", caption),
        element("p", how, class_="note how"),
    ]
    return element("figure", Markup.joined(parts), class_="zooms")
