"use strict";
// On a phone a wide figure is as wide as the screen; enlarged, it is read by moving it in its box.
for (const button of document.querySelectorAll(".enlarge")) {
  button.addEventListener("click", () => {
    const isLarge = button.closest("figure").classList.toggle("is-large");
    button.ariaPressed = String(isLarge);
  });
}
