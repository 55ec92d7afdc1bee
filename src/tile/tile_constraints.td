// Type constraints shared with the dialects above tile.
#ifndef SINTER_TILE_CONSTRAINTS_TD
#define SINTER_TILE_CONSTRAINTS_TD

include "mlir/IR/OpBase.td"

def Tile_Tile : Type<CPred<"::sinter::tile::isTileType($_self)">, "tile (a static tensor)">;

#endif
