/**
 * A text without the trailing characters that match `tail`, a pattern of one character. Takes linear time; a pattern
 * that ends with `+$` does not, because it restarts at each character.
 */
export function trimTrailing(text: string, tail: RegExp): string {
  let end = text.length;
  while (end > 0 && tail.test(text[end - 1] ?? '')) end -= 1;
  return text.slice(0, end);
}
