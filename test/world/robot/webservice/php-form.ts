/** A form value as PHP parses it: a string, or an array with numeric or named keys. */
export type FormValue = string | FormArray;
export interface FormArray {
  [key: string]: FormValue;
}

/**
 * Parses `application/x-www-form-urlencoded` like PHP: `k=v`, `k[]=v`, `k[0]=v`, `k[a][b]=v`, brackets raw or encoded.
 * The last value of a duplicate plain name counts.
 */
export function parseForm(text: string): FormArray {
  const form = newArray();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const [name = '', ...rest] = pair.split('=');
    const key = decode(name);
    const base = /^[^[]*/.exec(key)?.[0] ?? key;
    if (base === '') continue;
    const steps = [...key.slice(base.length).matchAll(/\[([^\]]*)\]/g)].map((match) => match[1] ?? '');
    put(form, [base, ...steps], decode(rest.join('=')));
  }
  return form;
}

/** A string, or undefined when it is missing or an array. */
export function formText(form: FormArray, name: string): string | undefined {
  const value = form[name];
  return typeof value === 'string' ? value : undefined;
}

/** A list in any notation: one plain value is a list of one. */
export function formTexts(form: FormArray, name: string): string[] {
  const value = form[name];
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  return Object.values(value).filter((one) => typeof one === 'string');
}

const newArray = (): FormArray => Object.create(null) as FormArray;

function put(target: FormArray, [step = '', ...rest]: readonly string[], value: string): void {
  const key = step === '' ? String(nextIndex(target)) : step;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const found = target[key];
  const inner = typeof found === 'object' ? found : newArray();
  target[key] = inner;
  put(inner, rest, value);
}

const nextIndex = (array: FormArray): number =>
  Object.keys(array).reduce((next, key) => (/^\d+$/.test(key) ? Math.max(next, Number(key) + 1) : next), 0);

function decode(part: string): string {
  const spaced = part.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    // An invalid percent sign is kept.
    return spaced;
  }
}
