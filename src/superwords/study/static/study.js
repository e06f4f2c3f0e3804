"use strict";

// Without this script the browser's own check of `required` and the server's answer say what is missing.
const form = document.getElementById("study");

if (form) {
  const summary = document.getElementById("missing");
  const progress = document.getElementById("progress");
  const blocks = [...form.querySelectorAll("fieldset")];
  const answered = (block) => block.querySelector("input:checked") !== null;

  const showProgress = () => {
    const open = blocks.filter((block) => !answered(block)).length;
    progress.hidden = false;
    progress.textContent = open === 0 ? "Every question is answered." : `Still to answer: ${open} of ${blocks.length}.`;
  };

  const showMissing = (missing) => {
    summary.hidden = missing.length === 0;
    summary.querySelector("p").textContent = "Your answers have not been sent yet, because some are missing:";
    summary.querySelector("ul").replaceChildren(
      ...missing.map((block) => {
        const link = document.createElement("a");
        link.href = `#${block.id}`;
        link.textContent = block.dataset.name[0].toUpperCase() + block.dataset.name.slice(1);
        link.addEventListener("click", (event) => {
          event.preventDefault();
          block.querySelector("input").focus();
        });
        const item = document.createElement("li");
        item.append(link);
        return item;
      }),
    );
    for (const block of blocks) block.classList.toggle("missing", missing.includes(block));
  };

  form.noValidate = true;
  form.addEventListener("change", (event) => {
    event.target.closest("fieldset").classList.remove("missing");
    showProgress();
  });
  form.addEventListener("submit", (event) => {
    const missing = blocks.filter((block) => !answered(block));
    showMissing(missing);
    if (missing.length > 0) {
      event.preventDefault();
      missing[0].querySelector("input").focus();
      return;
    }
    form.querySelector("button").disabled = true;
  });
  // A page that comes back from the browser's history must be able to send again.
  addEventListener("pageshow", () => {
    form.querySelector("button").disabled = false;
    showProgress();
  });
}
