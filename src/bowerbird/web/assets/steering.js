// Forms of steering: what a choice changes in the form itself, and files that are read into a box.
"use strict";

addEventListener("change", async (event) => {
  const field = event.target;
  if (field.matches("[data-reload]")) {
    // Another flow or network asks for other things: the form is built anew, with what was typed.
    const form = field.form;
    const kept = Object.fromEntries([...new FormData(form)].filter(([, value]) => typeof value === "string"));
    const address = new URL(location.href);
    address.search = new URLSearchParams({ flow: kept.flow, provider: kept.provider, name: kept.name, duration: kept.duration });
    sessionStorage.setItem("making", JSON.stringify(kept));
    location.assign(address);
  }
  if (field.matches("[data-into]") && field.files.length) {
    const into = field.form.elements[field.dataset.into];
    into.value = await field.files[0].text();
    into.dispatchEvent(new Event("input", { bubbles: true }));
  }
});

addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("new");
  const kept = JSON.parse(sessionStorage.getItem("making") || "null");
  sessionStorage.removeItem("making");
  if (!form || !kept) return;
  for (const [name, value] of Object.entries(kept)) {
    const field = form.elements[name];
    if (field && name !== "token" && name !== "a_month" && !field.matches("select, [type=file], [type=hidden]")) field.value = value;
  }
  // What was shown at first is of an empty form.
  form.dispatchEvent(new Event("change"));
});
