import { isObject } from '../json.ts';

type Step = (values: readonly unknown[]) => unknown[];

/**
 * Evaluates the JSONPath subset of printer columns: `.a.b`, `.a\.b`, `['a']`, `[0]`, `[-1]`, `[*]` and
 * `[?(@.type=="Ready")]`. Undefined for any other path: its column stays empty.
 */
export function compileJsonPath(path: string): ((value: unknown) => unknown[]) | undefined {
  const steps: Step[] = [];
  let rest = path;
  while (rest !== '' && rest !== '.') {
    const found = nextStep(rest);
    if (!found) return undefined;
    steps.push(found.step);
    rest = rest.slice(found.length);
  }
  return (value) => steps.reduce<unknown[]>((values, step) => step(values), [value]);
}

function nextStep(text: string): { step: Step; length: number } | undefined {
  const field = /^\.((?:\\.|[^.[\]\\])+)/.exec(text);
  if (field) return { step: fieldStep((field[1] ?? '').replace(/\\(.)/g, '$1')), length: field[0].length };
  const key = /^\.?\[(?:'([^']*)'|"([^"]*)")\]/.exec(text);
  if (key) return { step: fieldStep((key[1] ?? key[2] ?? '').replace(/\\(.)/g, '$1')), length: key[0].length };
  const index = /^\.?\[(-?\d+)\]/.exec(text);
  if (index) return { step: indexStep(Number(index[1])), length: index[0].length };
  const all = /^\.?\[\*\]|^\.\*/.exec(text);
  if (all) return { step: allStep, length: all[0].length };
  const filter = /^\.?\[\?\(\s*@((?:\.[\w-]+)+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|(true|false|-?\d+))\s*\)\]/.exec(
    text,
  );
  if (!filter) return undefined;
  const [whole, below = '', operator, double, single, bare] = filter;
  return { step: filterStep(below, operator === '==', double ?? single ?? bare ?? ''), length: whole.length };
}

const present = (value: unknown): unknown[] => (value === undefined ? [] : [value]);

const fieldStep =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => (name === '*' ? allStep([value]) : isObject(value) ? present(value[name]) : []));

const indexStep =
  (index: number): Step =>
  (values) =>
    values.flatMap((value) => (Array.isArray(value) ? present(value.at(index)) : []));

const allStep: Step = (values) =>
  values.flatMap((value) => (Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []));

function filterStep(below: string, isEqual: boolean, wanted: string): Step {
  const names = below.slice(1).split('.');
  const reach = (item: unknown): unknown =>
    names.reduce<unknown>((here, name) => (isObject(here) ? here[name] : undefined), item);
  const holds = (item: unknown): boolean => {
    const found = reach(item);
    return found !== undefined && (String(found) === wanted) === isEqual;
  };
  return (values) => allStep(values).filter(holds);
}
