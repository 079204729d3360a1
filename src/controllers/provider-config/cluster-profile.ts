import semver from 'semver';
import { clusterProfileName, group, labels, maxLabelLength, openmcpGroup } from '../../api/names.ts';
import type { ClusterProfile } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Diagnostic } from '../../engine/diagnostic.ts';
import { trimTrailing } from '../../lib/text.ts';
import { invalidField } from '../shared/spec/invalid-field.ts';

/**
 * Whether a ClusterProfile belongs to this instance: it names the provider, and its name matches its ProviderConfig and
 * this environment.
 */
export const isOwnProfile = ({ metadata, spec }: ClusterProfile, environment: string, provider: string): boolean =>
  spec.providerRef.name === provider &&
  metadata.name === clusterProfileName(environment, provider, spec.providerConfigRef.name);

/**
 * The name of the profile becomes a label value of AccessRequests: with a name that is no valid label value the
 * operator could not assign any request.
 */
export function checkProfileName(environment: string, provider: string, config: string): Diagnostic[] {
  const name = clusterProfileName(environment, provider, config);
  const left = maxLabelLength - (name.length - config.length);
  if (name.length <= maxLabelLength) return [];
  const message = `the name of the ClusterProfile, ${name}, has ${name.length} characters, which exceeds the ${maxLabelLength} characters of a label value. Create a ProviderConfig with a name of at most ${left} characters.`;
  return [invalidField('metadata.name', message)];
}

/** The ClusterProfile of a ProviderConfig, with the newest versions first. */
export function describeProfile(environment: string, provider: string, config: ProviderConfig): ClusterProfile {
  const versions = [...config.spec.kubernetes.versions].sort((a, b) => semver.rcompare(a.version, b.version));
  return {
    apiVersion: `${openmcpGroup}/v1alpha1`,
    kind: 'ClusterProfile',
    metadata: {
      name: clusterProfileName(environment, provider, config.metadata.name),
      labels: {
        [labels.provider]: provider,
        [`${group}/providerconfig`]: trimTrailing(config.metadata.name.slice(0, maxLabelLength), /[^a-z0-9A-Z]/),
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
