import semver from 'semver';
import { group, labels, openmcpGroup, profileName } from '../../api/names.ts';
import type { ClusterProfile } from '../../api/openmcp.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';

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
        [`${group}/providerconfig`]: config.metadata.name.slice(0, 63).replace(/[^a-z0-9A-Z]+$/, ''),
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
