import { expect } from 'vitest';
import type { Condition } from '../../../src/api/conditions.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { type KubeObject, keyOf, type ResourceType } from '../../../src/kube/resource.ts';
import type { Stage } from './stage.ts';

/** What became of an object that somebody made: it is served, or somebody says why it is not. */
export type Verdict =
  | { readonly kind: 'served' }
  | { readonly kind: 'refused'; readonly by: 'api' | 'provider'; readonly reason: string; readonly message: string };

export interface Judged extends KubeObject {
  spec?: object;
  status?: { observedGeneration?: number; phase?: string; conditions?: Condition[] };
}

/** How to see from a current status what became of an object; undefined while that is open. */
export type Reader<T extends Judged> = (object: T) => Verdict | undefined;

/** Refused by a condition that is False and that `Ready` repeats. */
export function refusal({ status }: Judged, ...types: readonly string[]): Verdict | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const said = status?.conditions?.find(({ type, status: holds }) => types.includes(type) && holds === 'False');
  if (!said || ready?.status !== 'False' || ready.message !== said.message) return undefined;
  return { kind: 'refused', by: 'provider', reason: said.reason, message: said.message };
}

/** Makes an object, waits for what becomes of it, takes it away again and waits until it is gone. */
export async function judge<T extends Judged>(
  stage: Stage,
  type: ResourceType<T>,
  create: () => Promise<T>,
  read: Reader<T>,
): Promise<Verdict> {
  const made = await submit(create);
  if ('kind' in made && made.kind === 'refused') return made as Verdict;
  const object = made as T;
  try {
    return await verdictOn(stage, type, object, read);
  } finally {
    await discard(stage, type, object);
  }
}

async function submit<T>(create: () => Promise<T>): Promise<T | Verdict> {
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof KubeError) || error.status < 400 || error.status >= 500) throw error;
    return { kind: 'refused', by: 'api', reason: error.reason, message: error.message };
  }
}

/** What its current status says. Its spec is still what was written: nobody but people changes that. */
export async function verdictOn<T extends Judged>(
  stage: Stage,
  type: ResourceType<T>,
  made: T,
  read: Reader<T>,
): Promise<Verdict> {
  const { uid, generation, name } = made.metadata;
  const look = (): Verdict | undefined => {
    const seen = stage.recorder.last(type, keyOf(made));
    if (!seen || seen.metadata.uid !== uid || seen.metadata.generation !== generation) return undefined;
    expect(seen.spec).toEqual(made.spec);
    return seen.status?.observedGeneration === generation ? read(seen) : undefined;
  };
  return await stage.recorder.until(`there is a verdict on ${type.kind} ${name}`, look, 90);
}

export async function discard(stage: Stage, type: ResourceType<KubeObject>, made: KubeObject): Promise<void> {
  await stage.platform.remove(type, keyOf(made));
  const gone = (): true | undefined => stage.recorder.isGone(type, keyOf(made)) || undefined;
  await stage.recorder.until(`${type.kind} ${made.metadata.name} is gone`, gone, 60);
}

/** Words by which a sentence says what to do. Schemas say what has to be. */
const advice =
  /\b(Add|Ask|Check|Choose|Correct|Create|Delete|Give|Leave|Make|Name|Offer|Put|Remove|See|Say|Update|Use|Write|choose|leave|take|use|write)\b/;
const demand =
  /must|should|has to|may not|Required value|Unsupported value|Duplicate value|Too long|Too many|expected|cannot be|is required|unknown field|unable to/;

/** A refusal is a sentence for people, about the field, with what to do, and without the insides of a program. */
export function expectSentence(verdict: Verdict, field: string): void {
  expect(verdict).toMatchObject({ kind: 'refused' });
  if (verdict.kind !== 'refused') return;
  const { message, by } = verdict;
  expect(message).toContain(field);
  expect(message).toMatch(by === 'api' ? demand : advice);
  if (by === 'provider') expect(message).toMatch(/^\S.*[.!]$/s);
  expect(message).not.toMatch(/\bundefined\b|\bNaN\b|\[object|TypeError|ZodError|\n\s+at |node_modules|\.ts:\d/);
  expect(message.length).toBeLessThan(4096);
}

/** No line of the log shows where in the program something happened, and nothing is called a fault. */
export function expectQuiet(stage: Stage): void {
  expect(stage.faults()).toEqual([]);
  expect(stage.logLines.filter((line) => /"stack"|\\n\s+at |TypeError|ZodError/.test(line))).toEqual([]);
}
