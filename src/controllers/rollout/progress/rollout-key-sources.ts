import type { Machine } from '../../../api/machine.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import { createKeySource, type KeySource } from '../../../kube/controller/controller.ts';
import type { ObjectChange } from '../../../kube/reflector/object-store.ts';
import { type ObjectKey, objectKeyOf } from '../../../kube/resource.ts';
import { changedBeyondStatus } from '../../shared/objects.ts';
import type { Services } from '../../shared/services.ts';
import { changeOf } from '../machine-change.ts';

/** Machines change several times within a second, and follow each other. */
const pauseSeconds = 2;

/** What changes the rollout of a ProviderConfig. */
export const rolloutKeySources = ({ stores, clock }: Pick<Services, 'stores' | 'clock'>): readonly KeySource[] => [
  createKeySource(stores.machines, configOfRolloutChange, {
    ...{ clock, seconds: pauseSeconds },
    groupOf: ({ spec }) => spec.providerConfigRef.name,
  }),
  createKeySource(stores.providerConfigs, (change) =>
    change.kind !== 'resync' && hasChangedForClusters(change) ? [objectKeyOf(change.object)] : [],
  ),
];

/** Progress of the rollout and orphans are of no interest to clusters. */
export function hasChangedForClusters(change: ObjectChange<ProviderConfig>): boolean {
  const relevant = ({ status }: ProviderConfig): string =>
    JSON.stringify([status?.observedGeneration, status?.phase, status?.conditions]);
  if (changedBeyondStatus(change) || !change.before) return true;
  return relevant(change.object) !== relevant(change.before);
}

/** The ProviderConfig of a Machine whose part in the rollout has changed. */
export function configOfRolloutChange({ kind, object, before }: ObjectChange<Machine>): ObjectKey[] {
  if (kind === 'resync' || (kind === 'updated' && describePart(object) === describePart(before))) return [];
  return [{ name: object.spec.providerConfigRef.name }];
}

function describePart(machine: Machine | undefined): string {
  if (!machine) return '';
  const { status, metadata } = machine;
  const state = status?.conditions?.find(({ type }) => type === 'UpToDate')?.status;
  const isSeen = (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0);
  return [changeOf(machine), state, status?.compared, isSeen, metadata.deletionTimestamp !== undefined].join();
}
