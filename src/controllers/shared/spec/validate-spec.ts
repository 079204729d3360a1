import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { checkVersions } from '../../../talos/versions.ts';
import { checkAddresses } from './check-addresses.ts';
import { checkBackup } from './check-backup.ts';
import { checkClusterNetwork } from './check-cluster-network.ts';
import { checkClusterSubnets } from './check-cluster-subnets.ts';
import { checkEgress } from './check-egress.ts';
import { checkExternalHosts, listExternalAddresses } from './check-external-hosts.ts';
import { checkIpv6 } from './check-ipv6.ts';
import { checkIssuers } from './check-issuers.ts';
import { checkNodeConfigs } from './check-node-configs.ts';
import { checkPatchLimits } from './check-patch-limits.ts';
import { checkRollout } from './check-rollout.ts';
import { checkWorkerPools } from './check-worker-pools.ts';
import { invalidField, type PlatformSectionSummary } from './invalid-field.ts';

/** Problems of a spec beyond its schema that can be found without external requests. Empty if the spec is valid. */
export function validateSpec(spec: ProviderConfigSpec, section: PlatformSectionSummary): Diagnostic[] {
  // What describes nodes has no effect on those of others.
  if (section.isExternal)
    return [...checkOfferedVersions(spec), ...checkSizes(spec, section.sizes), ...checkBackup(spec)];
  const { addressing } = section;
  const others = listExternalAddresses(spec, section.hosts);
  const findings = [
    ...checkReplicas(spec),
    ...checkVersions(
      spec.talos.version,
      spec.kubernetes.versions.map((offered) => offered.version),
    ),
    ...checkOfferedVersions(spec),
    ...checkSizes(spec, section.sizes),
    ...checkExternalHosts(spec),
    ...checkClusterNetwork(spec),
    ...checkEgress(spec),
    ...checkAddresses(spec, addressing, others),
    ...checkClusterSubnets(spec, others),
    ...checkIpv6(spec, addressing),
    ...checkWorkerPools(spec),
    ...checkPatchLimits(spec),
    ...checkIssuers(spec),
    ...checkRollout(spec),
    ...checkBackup(spec),
  ];
  // Configurations are rendered only if the parts are valid.
  return findings.length > 0 ? findings : checkNodeConfigs(spec, addressing);
}

/** The API server rejects this too. This check covers objects from before that CRD rule. */
function checkReplicas({ controlPlane }: ProviderConfigSpec): Diagnostic[] {
  if ([1, 3, 5].includes(controlPlane.replicas)) return [];
  return [
    invalidField(
      'controlPlane.replicas',
      `${controlPlane.replicas} control planes are not supported: etcd needs an odd number of members. Use 1, 3 or 5.`,
    ),
  ];
}

function checkOfferedVersions({ kubernetes }: ProviderConfigSpec): Diagnostic[] {
  if (kubernetes.versions.some((offered) => !offered.deprecated)) return [];
  return [invalidField('kubernetes.versions', 'All versions are deprecated. Offer at least one that is not.')];
}

function checkSizes(spec: ProviderConfigSpec, sizes: readonly string[]): Diagnostic[] {
  const used = [
    { field: 'controlPlane.size', size: spec.controlPlane.size },
    ...spec.workerPools.map((pool, i) => ({ field: `workerPools[${i}].size`, size: pool.size })),
  ];
  return used
    .filter(({ size }) => !sizes.includes(size))
    .map(({ field, size }) =>
      invalidField(
        field,
        `The size ${size} does not exist. Use a size of the platform section: ${sizes.join(', ') || 'none is defined'}.`,
      ),
    );
}
