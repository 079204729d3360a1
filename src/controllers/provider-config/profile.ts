import semver from 'semver';
import { group, labels, longestLabel, openmcpGroup, profileName } from '../../api/names.ts';
import type { ClusterProfile } from '../../api/openmcp.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Finding } from '../../engine/platform.ts';
import { withoutTail } from '../../lib/text.ts';
import { invalid } from './finding.ts';

/**
 * Whether a ClusterProfile belongs to this instance: it names the provider, and is called as that provider calls the one of
 * the ProviderConfig that it names, in this environment.
 */
export const isProfileOf = ({ metadata, spec }: ClusterProfile, environment: string, provider: string): boolean =>
  spec.providerRef.name === provider &&
  metadata.name === profileName(environment, provider, spec.providerConfigRef.name);

/**
 * The name of the profile becomes a label of AccessRequests: one that no label can hold would leave the operator unable to
 * hand any of them over.
 */
export function checkProfileName(environment: string, provider: string, config: string): Finding[] {
  const name = profileName(environment, provider, config);
  const left = longestLabel - (name.length - config.length);
  if (name.length <= longestLabel) return [];
  const message = `the ClusterProfile would be ${name}, whose ${name.length} characters do not fit into a label of AccessRequests, which holds ${longestLabel}. Make a ProviderConfig with a name of at most ${left} characters.`;
  return [invalid('metadata.name', message)];
}

/** The ClusterProfile that a ProviderConfig stands for. Versions come newest first. */
export function describeProfile(environment: string, provider: string, config: ProviderConfig): ClusterProfile {
  const versions = [...config.spec.kubernetes.versions].sort((a, b) => semver.rcompare(a.version, b.version));
  return {
    apiVersion: `${openmcpGroup}/v1alpha1`,
    kind: 'ClusterProfile',
    metadata: {
      name: profileName(environment, provider, config.metadata.name),
      labels: {
        [labels.provider]: provider,
        [`${group}/providerconfig`]: withoutTail(config.metadata.name.slice(0, longestLabel), /[^a-z0-9A-Z]/),
      },
    },
    spec: {
      providerRef: { name: provider },
      providerConfigRef: { name: config.metadata.name },
      supportedVersions: versions.map(({ version, deprecated }) =>
        deprecated ? { version, deprecated } : { version },
      ),
    },
  };
}
