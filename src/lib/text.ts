/**
 * A text without the trailing characters that match `tail`, a pattern of one character. Takes linear time; a pattern
 * that ends with `+$` does not, because it restarts at each character.
 */
export function trimTrailing(text: string, tail: RegExp): string {
  let end = text.length;
  while (end > 0 && tail.test(text[end - 1] ?? '')) end -= 1;
  return text.slice(0, end);
}

/** RFC 3339 with whole seconds, e.g. `2026-11-26T02:30:00Z`. */
export const formatTime = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`;

/**
 * A text that cannot control a terminal, break its line or reorder it: control and formatting characters become spaces.
 * Names and messages come from users and other systems.
 */
export const toPrintable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
