// One key for each thing that carries it: `data-press="y"` is clicked by y.
"use strict";

for (const each of document.querySelectorAll("[data-press]")) {
  bowerbird.keys[each.dataset.press] = () => document.querySelector(`[data-press="${CSS.escape(each.dataset.press)}"]`)?.click();
}
