// One key for each account: the key presses the button that carries it.
"use strict";

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const button = document.querySelector(`.keys button[data-press="${CSS.escape(event.key)}"]:not([disabled])`);
  if (!button) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  // Of an account that was just answered nothing more is said; the next one may be there before htmx has looked at it.
  if (button.form.classList.contains("htmx-request")) return;
  window.htmx?.process(button.form);
  button.click();
}, true);

addEventListener("DOMContentLoaded", () => {
  // The answer stands where the question stood: what has the focus is gone with it.
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "judging") event.target.querySelector(".judging")?.setAttribute("tabindex", "-1");
    if (event.target.id === "judging") event.target.querySelector(".judging")?.focus();
  });
  document.body.addEventListener("htmx:responseError", (event) => {
    const place = document.getElementById("judging");
    if (!place || event.detail.target.id !== "judging") return;
    const words = document.createElement("p");
    words.className = "message bad";
    words.setAttribute("role", "alert");
    words.textContent = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html").querySelector("p")?.textContent || "This cannot be done.";
    place.prepend(words);
  });
});
