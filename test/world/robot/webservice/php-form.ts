/** A string, or undefined when it is missing or an array. As in PHP, the last value of a duplicate name counts. */
export const formText = (form: URLSearchParams, name: string): string | undefined => form.getAll(name).at(-1);

/** A list in any notation of PHP: `k[]=a`, `k[0]=a`, or one plain value. */
export function formTexts(form: URLSearchParams, name: string): string[] {
  const plain = formText(form, name);
  if (plain !== undefined) return [plain];
  return [...form].filter(([key]) => key.startsWith(`${name}[`) && /\[\d*\]$/.test(key)).map(([, value]) => value);
}
