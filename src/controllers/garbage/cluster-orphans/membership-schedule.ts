import type { Machine } from '../../../api/machine.ts';
import type { Clock } from '../../../lib/clock.ts';
import { spreadById } from '../../../lib/hash.ts';
import { lookSeconds } from './finding-confirmation.ts';

/** Interval at rest. No event reports a member that a user has added. */
const restSeconds = 6 * 3600;
/** The first look of a process, so that its start asks no cluster. Each cluster has another time up to twice that. */
const firstLookSeconds = 3600;
/** While a rollout or the deletion of a control plane is held up, which a member without a Machine can cause. */
const heldUpSeconds = 60;

/**
 * When the members of etcd are looked at. Members come with control planes, so a look is due when those have changed; at
 * rest it costs nothing.
 */
export class MembershipSchedule {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #firstLookSeconds: number;
  #lastLook: number | undefined;
  /** The control planes to which all members belonged at the last look; before the first look, those that exist. */
  #explained: string | undefined;

  /** `uid`: of the Cluster. */
  constructor(clock: Pick<Clock, 'monotonic'>, uid: string) {
    this.#clock = clock;
    this.#firstLookSeconds = firstLookSeconds + spreadById(uid, firstLookSeconds);
  }

  /** Seconds until the next look; 0 if it is due. */
  secondsUntilLook(controlPlanes: readonly Machine[], isHeldUp: boolean): number {
    if (this.#lastLook === undefined) {
      this.#lastLook = this.#clock.monotonic() - (restSeconds - this.#firstLookSeconds) * 1000;
      this.#explained = fingerprint(controlPlanes);
    }
    const isExplained = this.#explained === fingerprint(controlPlanes);
    const pause = !isExplained ? lookSeconds : isHeldUp ? heldUpSeconds : restSeconds;
    return Math.max(0, pause - (this.#clock.monotonic() - this.#lastLook) / 1000);
  }

  /** A look begins. */
  begin(): void {
    this.#lastLook = this.#clock.monotonic();
    this.#explained = undefined;
  }

  /** All members belong to these control planes. */
  explain(controlPlanes: readonly Machine[]): void {
    this.#explained = fingerprint(controlPlanes);
  }
}

const fingerprint = (controlPlanes: readonly Machine[]): string =>
  controlPlanes
    .map(({ metadata }) => `${metadata.name} ${metadata.uid}`)
    .sort()
    .join();
