"use strict";
// A tile shows only the claims with its verdict; pressed again, all of them.
{
  const section = document.getElementById("claims");
  const tiles = [...section.querySelectorAll(".tile")];
  const claims = [...section.querySelectorAll(".claim")];
  const showOnly = (verdict) => {
    for (const tile of tiles) tile.ariaPressed = String(tile.dataset.verdict === verdict);
    for (const claim of claims) claim.hidden = Boolean(verdict) && !claim.classList.contains(verdict);
    const shown = claims.filter((claim) => !claim.hidden).length;
    const all = `${claims.length} claim${claims.length === 1 ? "" : "s"}`;
    document.getElementById("claims-shown").textContent = verdict ? `${shown} of ${all}` : all;
  };
  for (const tile of tiles) {
    tile.addEventListener("click", () => {
      showOnly(tile.ariaPressed === "true" ? null : tile.dataset.verdict);
    });
  }
  // A link to a claim shows it, whatever the tiles say.
  addEventListener("hashchange", () => {
    const claim = document.getElementById(location.hash.slice(1));
    if (claims.includes(claim) && claim.hidden) {
      showOnly(null);
      claim.scrollIntoView();
    }
  });
}
