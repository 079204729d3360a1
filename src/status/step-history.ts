import type { Machine } from '../api/machine.ts';
import type { ObjectChange } from '../kube/reflector/object-store.ts';
import { LruMap } from '../lib/lru-map.ts';

type MachineProgress = NonNullable<NonNullable<Machine['status']>['progress']>;

/** One stay of a machine in a step. */
export interface StepRecord {
  readonly plan: MachineProgress['plan'];
  readonly step: string;
  readonly startedAt: string;
  /** Absent: it is the current one. */
  readonly endedAt?: string;
  /** Runs that failed, and the last one. */
  readonly tries: number;
}

interface StepDuration {
  /** UID of the Machine. */
  readonly machine: string;
  readonly seconds: number;
}

/** More than the Machines of an instance. */
const maxMachines = 10_000;
/** Two plans of the longest platform. The oldest records go first. */
const maxRecords = 64;
/** Steps of all platforms and plans. */
const maxSteps = 500;
/** Enough for a median; the oldest go first. */
const maxDurations = 101;

/**
 * When each machine was in which step, and how long a step usually takes. A status records the current step only, so the
 * history is that of the changes which this process has seen: it begins with the process, and costs no write.
 */
export class StepHistory {
  readonly #records = new LruMap<string, readonly StepRecord[]>(maxMachines);
  /** By platform, plan and step. */
  readonly #durations = new LruMap<string, readonly StepDuration[]>(maxSteps);

  /** Takes a change from the cache of Machines. */
  observe({ kind, object, before }: ObjectChange<Machine>): void {
    const { uid = '' } = object.metadata;
    if (kind === 'deleted') this.#records.delete(uid);
    if (kind === 'added') this.#begin(uid, object.status?.progress);
    if (kind === 'updated') this.#compare(object, before?.status?.progress, object.status?.progress);
  }

  /** The records of a Machine, oldest first. */
  of({ metadata }: Machine): readonly StepRecord[] {
    return this.#records.get(metadata.uid ?? '') ?? [];
  }

  /** Median of the durations of a step on the other machines of the platform; undefined before one was seen. */
  usualSeconds(machine: Machine, plan: string, step: string): number | undefined {
    const { uid = '' } = machine.metadata;
    const all = this.#durations.get(durationKey(machine, plan, step)) ?? [];
    return medianOf(all.filter((one) => one.machine !== uid).map(({ seconds }) => seconds));
  }

  #compare(machine: Machine, before: MachineProgress | undefined, after: MachineProgress | undefined): void {
    const { uid = '' } = machine.metadata;
    if (!after) return;
    if (before && isSameStay(before, after)) {
      if (after.failures > before.failures) this.#countTries(uid, after.failures - before.failures);
      return;
    }
    this.#end(machine, after.finishedAt ?? after.since);
    this.#begin(uid, after);
  }

  #begin(uid: string, progress: MachineProgress | undefined): void {
    if (!progress || progress.step === '' || progress.finishedAt) return;
    const { plan, step, since: startedAt, failures } = progress;
    const all = [...(this.#records.get(uid) ?? []), { plan, step, startedAt, tries: failures + 1 }];
    this.#records.set(uid, all.slice(-maxRecords));
  }

  #end(machine: Machine, endedAt: string): void {
    const { uid = '' } = machine.metadata;
    const open = this.#last(uid);
    if (!open || open.endedAt) return;
    this.#replaceLast(uid, { ...open, endedAt });
    const seconds = (Date.parse(endedAt) - Date.parse(open.startedAt)) / 1000;
    if (!(seconds >= 0)) return;
    const key = durationKey(machine, open.plan, open.step);
    this.#durations.set(key, [...(this.#durations.get(key) ?? []), { machine: uid, seconds }].slice(-maxDurations));
  }

  #countTries(uid: string, more: number): void {
    const open = this.#last(uid);
    if (open && !open.endedAt) this.#replaceLast(uid, { ...open, tries: open.tries + more });
  }

  #last(uid: string): StepRecord | undefined {
    return this.#records.get(uid)?.at(-1);
  }

  #replaceLast(uid: string, record: StepRecord): void {
    this.#records.set(uid, [...(this.#records.get(uid) ?? []).slice(0, -1), record]);
  }
}

const isSameStay = (a: MachineProgress, b: MachineProgress): boolean =>
  a.plan === b.plan && a.step === b.step && a.since === b.since && a.finishedAt === b.finishedAt;

const durationKey = ({ spec }: Machine, plan: string, step: string): string => `${spec.platform}/${plan}/${step}`;

/** The lower one of the two in the middle: a duration that was really seen. */
function medianOf(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}
