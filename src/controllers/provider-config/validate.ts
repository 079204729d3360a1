import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Finding } from '../../engine/platform.ts';
import { checkVersions } from '../../talos/versions.ts';
import { checkAddresses } from './check-addresses.ts';
import { checkConfigs } from './check-configs.ts';
import { checkHosts, namedAddresses } from './check-hosts.ts';
import { checkIssuers } from './check-issuers.ts';
import { checkPatches } from './check-patches.ts';
import { checkClusterRanges } from './check-ranges.ts';
import { checkWorkers } from './check-workers.ts';
import { invalid, type Section } from './finding.ts';

/**
 * What is wrong with a spec beyond its schema: everything that can be known without asking anybody. Empty when it can
 * be served.
 */
export function validateSpec(spec: ProviderConfigSpec, section: Section): Finding[] {
  const { addressing } = section;
  const others = namedAddresses(spec, section.hosts);
  const findings = [
    ...checkReplicas(spec),
    ...checkVersions(
      spec.talos.version,
      spec.kubernetes.versions.map((offered) => offered.version),
    ),
    ...checkOffer(spec),
    ...checkSizes(spec, section.sizes),
    ...checkHosts(spec),
    ...checkAddresses(spec, addressing, others),
    ...checkClusterRanges(spec, others),
    ...checkWorkers(spec),
    ...checkPatches(spec),
    ...checkIssuers(spec),
  ];
  // What is made from all that together is only looked at when each for itself is right.
  return findings.length > 0 ? findings : checkConfigs(spec, addressing);
}

/** The API server refuses this too; an object that came in before that rule is caught here. */
function checkReplicas({ controlPlane }: ProviderConfigSpec): Finding[] {
  if ([1, 3, 5].includes(controlPlane.replicas)) return [];
  return [
    invalid(
      'controlPlane.replicas',
      `${controlPlane.replicas} control planes are not possible: etcd needs an odd number to survive the loss of one. Use 1, 3 or 5.`,
    ),
  ];
}

function checkOffer({ kubernetes }: ProviderConfigSpec): Finding[] {
  if (kubernetes.versions.some((offered) => !offered.deprecated)) return [];
  return [invalid('kubernetes.versions', 'Every version is deprecated. Offer at least one that new clusters can get.')];
}

function checkSizes(spec: ProviderConfigSpec, sizes: readonly string[]): Finding[] {
  const used = [
    { field: 'controlPlane.size', size: spec.controlPlane.size },
    ...spec.workerPools.map((pool, i) => ({ field: `workerPools[${i}].size`, size: pool.size })),
  ];
  return used
    .filter(({ size }) => !sizes.includes(size))
    .map(({ field, size }) =>
      invalid(
        field,
        `There is no size ${size}. Name one of the platform section: ${sizes.join(', ') || 'none is defined yet'}.`,
      ),
    );
}
