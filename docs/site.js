// The theme makes a copy button of each block of code, in a landmark without a name, and lets the keyboard reach what scrolls
// only while it is seen.
const complete = () => {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav) => {
    const target = nav.querySelector("button")?.dataset.clipboardTarget ?? "";
    nav.setAttribute("aria-label", `Code ${parseInt(target.replace(/\D/g, ""), 10) + 1}`);
  });
  document.querySelectorAll("pre > code, .md-typeset__scrollwrap").forEach((box) => {
    if (!box.hasAttribute("tabindex")) box.tabIndex = 0;
  });
};
new MutationObserver(complete).observe(document.body, {
  attributeFilter: ["tabindex"], attributes: true, childList: true, subtree: true,
});
complete();
