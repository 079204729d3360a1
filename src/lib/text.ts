/**
 * A text without the characters at its end that fit `tail`, a pattern of one character. In linear time, which a pattern
 * that ends with `+$` does not take: it begins anew at each character.
 */
export function trimTrailing(text: string, tail: RegExp): string {
  let end = text.length;
  while (end > 0 && tail.test(text[end - 1] ?? '')) end -= 1;
  return text.slice(0, end);
}
