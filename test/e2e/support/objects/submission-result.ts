import { expect } from 'vitest';
import type { Condition } from '../../../../src/api/conditions.ts';
import { KubeError } from '../../../../src/kube/errors.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../../src/kube/resource.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** The result for a created object: it is accepted, or rejected with a reason. */
export type SubmissionResult =
  | { readonly kind: 'served' }
  | { readonly kind: 'refused'; readonly by: 'api' | 'provider'; readonly reason: string; readonly message: string };

export interface SubmittedObject extends KubeObject {
  spec?: object;
  status?: { observedGeneration?: number; phase?: string; conditions?: Condition[] };
}

/** Reads the result from a current status; undefined while it is open. */
export type SubmissionReader<T extends SubmittedObject> = (object: T) => SubmissionResult | undefined;

/** A rejection by a condition that is False and that `Ready` repeats. */
export function readRejection({ status }: SubmittedObject, ...types: readonly string[]): SubmissionResult | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const messages = status?.conditions?.find(({ type, status: holds }) => types.includes(type) && holds === 'False');
  if (!messages || ready?.status !== 'False' || ready.message !== messages.message) return undefined;
  return { kind: 'refused', by: 'provider', reason: messages.reason, message: messages.message };
}

/** Creates an object, waits for its result, deletes it and waits until it is gone. */
export async function submitAndDelete<T extends SubmittedObject>(
  testbed: Testbed,
  type: ResourceType<T>,
  create: () => Promise<T>,
  read: SubmissionReader<T>,
): Promise<SubmissionResult> {
  const made = await createOrRejection(create);
  if ('kind' in made && made.kind === 'refused') return made as SubmissionResult;
  const object = made as T;
  try {
    return await awaitSubmissionResult(testbed, type, object, read);
  } finally {
    await deleteAndAwait(testbed, type, object);
  }
}

async function createOrRejection<T>(create: () => Promise<T>): Promise<T | SubmissionResult> {
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof KubeError) || error.status < 400 || error.status >= 500) throw error;
    return { kind: 'refused', by: 'api', reason: error.reason, message: error.message };
  }
}

/** The result in its current status. Also expects that the spec is unchanged: only users change it. */
export async function awaitSubmissionResult<T extends SubmittedObject>(
  testbed: Testbed,
  type: ResourceType<T>,
  made: T,
  read: SubmissionReader<T>,
): Promise<SubmissionResult> {
  const { uid, generation, name } = made.metadata;
  const look = (): SubmissionResult | undefined => {
    const seen = testbed.recorder.last(type, objectKeyOf(made));
    if (!seen || seen.metadata.uid !== uid || seen.metadata.generation !== generation) return undefined;
    expect(seen.spec).toEqual(made.spec);
    return seen.status?.observedGeneration === generation ? read(seen) : undefined;
  };
  return await testbed.recorder.until(`there is a verdict on ${type.kind} ${name}`, look, 90);
}

export async function deleteAndAwait(
  testbed: Testbed,
  type: ResourceType<KubeObject>,
  made: KubeObject,
): Promise<void> {
  await testbed.platform.remove(type, objectKeyOf(made));
  const gone = (): true | undefined => testbed.recorder.isGone(type, objectKeyOf(made)) || undefined;
  await testbed.recorder.until(`${type.kind} ${made.metadata.name} is gone`, gone, 60);
}

/** Words that introduce a remedy in a message. Messages of schemas state the constraint. */
const advicePattern =
  /\b(Add|Check|Choose|Correct|Create|Delete|Exclude|List|Merge|Offer|Omit|Reduce|Remove|Repair|Restore|See|Set|Shorten|Split|Update|Use|choose|omit|remove|use)\b/;
const demandPattern =
  /must|should|has to|may not|Required value|Unsupported value|Duplicate value|Too long|Too many|expected|cannot be|is required|unknown field|unable to/;

/**
 * Expects that a rejection is a readable sentence that names the field and the remedy, without internals of the
 * program.
 */
export function expectHelpfulMessage(verdict: SubmissionResult, field: string): void {
  expect(verdict).toMatchObject({ kind: 'refused' });
  if (verdict.kind !== 'refused') return;
  const { message, by } = verdict;
  expect(message).toContain(field);
  expect(message).toMatch(by === 'api' ? demandPattern : advicePattern);
  if (by === 'provider') expect(message).toMatch(/^\S.*[.!]$/s);
  expect(message).not.toMatch(/\bundefined\b|\bNaN\b|\[object|TypeError|ZodError|\n\s+at |node_modules|\.ts:\d/);
  expect(message.length).toBeLessThan(4096);
}

/** Expects that no log line contains a stack trace or reports a fault of the program. */
export function expectNoErrorsLogged(testbed: Testbed): void {
  expect(testbed.faults()).toEqual([]);
  expect(testbed.logLines.filter((line) => /"stack"|\\n\s+at |TypeError|ZodError/.test(line))).toEqual([]);
}
