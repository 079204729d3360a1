/** A value of a form as PHP reads it: text, or an array whose keys are numbers or names. */
export type FormValue = string | FormArray;
export interface FormArray {
  [key: string]: FormValue;
}

/**
 * Reads `application/x-www-form-urlencoded` as PHP does: `k=v`, `k[]=v`, `k[0]=v`, `k[a][b]=v`, brackets raw or encoded. Of a
 * plain name that is there twice, the last one counts.
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

/** One text, or undefined when it is not there or an array. */
export function formText(form: FormArray, name: string): string | undefined {
  const value = form[name];
  return typeof value === 'string' ? value : undefined;
}

/** A list however it was written: one plain value is a list of one. */
export function formTexts(form: FormArray, name: string): string[] {
  const value = form[name];
  if (value === undefined) return [];
  if (typeof value === 'string') return [value];
  return Object.values(value).filter((one) => typeof one === 'string');
}

/** A list of arrays, e.g. `rules[input][0][action]`. */
export function formArrays(value: FormValue | undefined): FormArray[] {
  if (value === undefined || typeof value === 'string') return [];
  return Object.values(value).filter((one) => typeof one !== 'string');
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
    // A stray percent sign stands for itself.
    return spaced;
  }
}
