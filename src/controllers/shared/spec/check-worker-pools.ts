import { group } from '../../../api/names.ts';
import type { ProviderConfigSpec, WorkerPool } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { isKubeletSettableLabel, isLabelKey, isLabelValue } from '../../../talos/config/schema/formats.ts';
import { invalidField } from './invalid-field.ts';

/** Labels and taints must be allowed at the registration of a node. */
export const checkWorkerPools = ({ workerPools }: ProviderConfigSpec): Diagnostic[] =>
  workerPools.flatMap((pool, i) => [
    ...checkReplicaLimits(`workerPools[${i}]`, pool),
    ...checkLabels(`workerPools[${i}].labels`, pool),
    ...checkTaints(`workerPools[${i}].taints`, pool),
  ]);

/** The API server checks each object alone. This also covers values of a ProviderConfig with those of a ClusterConfig. */
function checkReplicaLimits(field: string, { name, replicas, minReplicas, maxReplicas }: WorkerPool): Diagnostic[] {
  if (minReplicas !== undefined && replicas < minReplicas)
    return [
      invalidField(
        `${field}.minReplicas`,
        `The pool ${name} begins with ${replicas} nodes, fewer than ${minReplicas}. Raise replicas, or lower minReplicas.`,
      ),
    ];
  if (maxReplicas !== undefined && replicas > maxReplicas)
    return [
      invalidField(
        `${field}.maxReplicas`,
        `The pool ${name} begins with ${replicas} nodes, more than ${maxReplicas}. Lower replicas, or raise maxReplicas.`,
      ),
    ];
  return [];
}

function checkLabels(field: string, { labels }: WorkerPool): Diagnostic[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const message = describeInvalidLabel(key, value);
    return message === undefined ? [] : [invalidField(field, message)];
  });
}

function describeInvalidLabel(key: string, value: string): string | undefined {
  if (!isLabelKey(key)) return `${key} is not a label key. Use a key like disk or example.org/disk.`;
  if (!isLabelValue(value)) {
    return `${value} is not a valid value of the label ${key}. Use up to 63 letters, digits, dots, dashes and underscores.`;
  }
  if (!isKubeletSettableLabel(key))
    return `Nodes cannot set the label ${key} themselves. Use your own prefix, like example.org/.`;
  if (key.startsWith(`${group}/`)) return `The label ${key} is set by the provider. Choose another name.`;
  return undefined;
}

function checkTaints(field: string, { taints }: WorkerPool): Diagnostic[] {
  const identities = taints.map(({ key, effect }) => `${key}:${effect}`);
  return taints.flatMap(({ key, value }, i) => {
    const at = `${field}[${i}]`;
    if (!isLabelKey(key))
      return [invalidField(`${at}.key`, `${key} is not a taint key. Use a key like gpu or example.org/gpu.`)];
    if (!isLabelValue(value)) {
      const message = `${value} is not a valid value of a taint. Use up to 63 letters, digits, dots, dashes and underscores.`;
      return [invalidField(`${at}.value`, message)];
    }
    if (identities.indexOf(identities[i] ?? '') !== i)
      return [invalidField(at, `An earlier taint has the same key ${key} and effect. Remove one of them.`)];
    return [];
  });
}
