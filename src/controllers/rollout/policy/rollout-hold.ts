import type { ConditionReason } from '../../../api/conditions.ts';
import { annotations } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { RolloutSpec } from '../../../api/schema/rollout-schema.ts';
import type { KubeObject } from '../../../kube/resource.ts';
import { findNextWindow } from './rollout-windows.ts';

const requests = ['pause', 'now', 'retry'] as const;
/** A value of the annotation `rollout`. */
export type RolloutRequest = (typeof requests)[number];

/** Why no further node may be changed. */
export interface RolloutHold {
  readonly reason: ConditionReason;
  readonly message: string;
  /** When it ends by itself. */
  readonly until?: Date | undefined;
}

/** What a user asks for on a Cluster or ProviderConfig. An unknown value asks for nothing. */
export const readRolloutRequest = (object: KubeObject | undefined): RolloutRequest | undefined =>
  requests.find((request) => request === object?.metadata.annotations?.[annotations.rollout]);

/** Names the annotation if its value is unknown. */
export function describeUnknownRequest(object: KubeObject | undefined): string | undefined {
  const value = object?.metadata.annotations?.[annotations.rollout];
  if (object === undefined || value === undefined || readRolloutRequest(object) !== undefined) return undefined;
  return `metadata.annotations[${annotations.rollout}] of ${object.kind} ${object.metadata.name}: ${JSON.stringify(value.slice(0, 40))} is unknown and has no effect. Use one of ${requests.join(', ')}, or remove it.`;
}

export interface HoldSources {
  readonly cluster: Cluster;
  readonly config: ProviderConfig | undefined;
  readonly rollout: RolloutSpec;
  readonly now: Date;
}

/** A pause comes first: `now` only opens the windows. */
export function findRolloutHold({ cluster, config, rollout, now }: HoldSources): RolloutHold | undefined {
  const paused = [cluster, config].find((object) => readRolloutRequest(object) === 'pause');
  if (paused) {
    const message = `The annotation rollout of ${paused.kind} ${paused.metadata.name} is pause. Remove it to continue.`;
    return { reason: 'RolloutPaused', message };
  }
  if ([cluster, config].some((object) => readRolloutRequest(object) === 'now')) return undefined;
  const state = findNextWindow(rollout.windows, now);
  if (state.kind === 'open') return undefined;
  const { opensAt: until } = state;
  if (!until) return { reason: 'OutsideWindow', message: 'No window of spec.rollout.windows begins. Correct them.' };
  const time = until.toISOString().replace(/:00\.000Z$/, 'Z');
  return { reason: 'OutsideWindow', message: `The next window of spec.rollout.windows begins at ${time}.`, until };
}
