import type { PatternPiece } from './pattern.ts';

/** A piece of an expanded word. `split`: it came out of an expansion without quotes. `break`: another word begins. */
export interface Piece extends PatternPiece {
  readonly split: boolean;
  readonly break?: true;
}

/** Splits expanded pieces into words at white space. A word that was quoted stays, even when it is empty. */
export function splitFields(pieces: readonly Piece[]): PatternPiece[][] {
  const fields: PatternPiece[][] = [];
  let current: PatternPiece[] | undefined;
  const add = (text: string, quoted: boolean): void => {
    if (text !== '' || quoted) current = [...(current ?? []), { text, quoted }];
  };
  const end = (): void => {
    if (current) fields.push(current);
    current = undefined;
  };
  for (const piece of pieces) {
    if (piece.break) end();
    else if (!piece.split) add(piece.text, piece.quoted);
    else {
      for (const [index, text] of piece.text.split(/[ \t\n]+/).entries()) {
        if (index > 0) end();
        add(text, false);
      }
    }
  }
  end();
  return fields;
}
