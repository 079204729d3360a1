import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import type { ResourceType } from '../../../../src/kube/resource.ts';
import { propertyParameters } from '../../../support/arbitrary/property-parameters.ts';
import { type InvalidValue, invalidBySchema } from '../../../support/arbitrary/schema-violations.ts';
import { eventually } from '../../../support/eventually.ts';
import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import type { ObjectSchema } from '../../../world/kube/schema/schema.ts';
import type { Testbed } from '../testbed/testbed.ts';
import {
  awaitSubmissionResult,
  deleteAndAwait,
  expectHelpfulMessage,
  type SubmissionReader,
  type SubmissionResult,
  type SubmittedObject,
  submitAndDelete,
} from './submission-result.ts';

/** A kind of object that users write; `V` is the generated value. */
interface GeneratedKind<T extends SubmittedObject, V> {
  readonly type: ResourceType<T>;
  /** `name` is unused so far; a value may have a name of its own. */
  create(value: V, name: string): Promise<T>;
  /** See {@link SubmissionReader}. */
  readonly read: SubmissionReader<T>;
}

/** Generated objects of one kind, one after the other, with their results. */
export class GeneratedObjects<T extends SubmittedObject, V> {
  readonly #open: () => Testbed;
  readonly #kind: GeneratedKind<T, V>;
  readonly #counts = new Map<string, number>();
  #made = 0;

  /** Prints the numbers of accepted and rejected objects at the end of the file. */
  constructor(open: () => Testbed, kind: GeneratedKind<T, V>) {
    this.#open = open;
    this.#kind = kind;
    afterAll(() => {
      const counts = [...this.#counts].map(([what, n]) => `${n} ${what}`);
      process.stdout.write(` ${kind.type.kind}s: ${counts.join(', ')}\n`);
    });
  }

  freshName(): string {
    this.#made += 1;
    return `generated-${this.#made}`;
  }

  /** Creates one and deletes it again. */
  async submit(value: V): Promise<SubmissionResult> {
    const { type, read, create } = this.#kind;
    return this.#count(await submitAndDelete(this.#open(), type, () => create(value, this.freshName()), read));
  }

  /** Creates one, expects that it is accepted, and runs a function before its deletion. */
  async serve(
    value: V,
    work: (made: T) => Promise<void> = async () => undefined,
    name = this.freshName(),
  ): Promise<void> {
    const { type, read, create } = this.#kind;
    const made = await create(value, name);
    try {
      expect(this.#count(await awaitSubmissionResult(this.#open(), type, made, read))).toEqual({ kind: 'served' });
      await work(made);
    } finally {
      await deleteAndAwait(this.#open(), type, made);
    }
  }

  #count(verdict: SubmissionResult): SubmissionResult {
    const what = verdict.kind === 'served' ? 'served' : `refused by the ${verdict.by}`;
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
    return verdict;
  }

  /** A property: the API server rejects a value that violates the schema, and names the field. */
  itRefusesBySchema<S extends object>(
    schema: ObjectSchema,
    good: () => fc.Arbitrary<S>,
    toValue: (spec: S) => V,
    runs: number,
  ): void {
    it('that violates the schema is rejected by the API server, which names the field', async () => {
      await fc.assert(
        fc.asyncProperty(invalidBySchema(good(), schema), async ({ value, field }) => {
          const verdict = await this.submit(toValue(value));
          expect(verdict).toMatchObject({ by: 'api' });
          expectHelpfulMessage(verdict, field);
        }),
        propertyParameters(`${this.#kind.type.kind}s that do not fit the schema`, runs),
      );
    });
  }

  /** A property: a condition rejects a value that matches the schema and is invalid, and names the field. */
  itRefusesByCondition(broken: () => fc.Arbitrary<InvalidValue<V>>, runs: number): void {
    it('that matches the schema and is invalid is rejected by a condition, which names the field', async () => {
      await fc.assert(
        fc.asyncProperty(broken(), async ({ value, field }) => {
          const verdict = await this.submit(value);
          expect(verdict).toMatchObject({ by: 'provider' });
          expectHelpfulMessage(verdict, field);
        }),
        propertyParameters(`${this.#kind.type.kind}s that fit the schema`, runs),
      );
    });
  }

  /**
   * Expects the same calls for a valid object beside invalid ones (`bad`) as without them. `workOf` selects the calls
   * for an object.
   */
  async expectUndisturbed(
    good: V,
    bad: readonly V[],
    workOf: (calls: readonly InterceptedCall[], name: string) => string[],
  ): Promise<void> {
    const { type, create } = this.#kind;
    const { calls } = this.#open();
    const atRest = (work: () => readonly string[]): Promise<boolean> =>
      eventually('it is at rest', async () => {
        const before = work().length;
        await pause(300);
        return work().length === before;
      });
    const workFor = async (name: string): Promise<string[]> => {
      const first = calls.length;
      let last = first;
      await this.serve(
        good,
        async () => {
          // The effects of the last change belong to it, too.
          await atRest(() => workOf(calls.slice(first), name));
          last = calls.length;
        },
        name,
      );
      return workOf(calls.slice(first, last), name);
    };
    // Calls for the deletion of the object before may still follow.
    await atRest(() => workOf(calls, ''));
    const alone = await workFor('alone');
    const standing = await Promise.all(bad.map((value, i) => create(value, `bad-${i}`)));
    try {
      expect(await workFor('among')).toEqual(alone);
    } finally {
      await Promise.all(standing.map((one) => deleteAndAwait(this.#open(), type, one)));
    }
  }
}
