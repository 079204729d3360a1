import type { Machine } from '../../../api/machine.ts';
import type { ProviderInstance } from '../../../api/names.ts';
import type { AccessRequest, NamespacedRef } from '../../../api/openmcp/types.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { formatObjectKey } from '../../../kube/resource.ts';
import { issuerCaId, valueAt } from '../../../talos/config/machine-config.ts';
import { isAtLeastMinor } from '../../../talos/versions.ts';
import { isNoLongerResponsible, isResponsible } from '../../access-request/responsibility.ts';
import { runningTalosVersion } from '../../shared/running-talos-version.ts';
import type { Services } from '../../shared/services.ts';
import { decideTrust, rejectAllTrust, type TrustDecision } from './decide-trust.ts';
import { isTrustedFor, type TrustRecord } from './trust-record.ts';
import { controlPlanesOf } from './trust-trial.ts';

interface ClusterTrustInput {
  readonly ref: NamespacedRef;
  readonly config: string;
  readonly spec: ProviderConfigSpec;
  readonly record: TrustRecord | undefined;
  readonly machines: readonly Machine[];
  readonly endpoint: string | undefined;
  /** Who configures the control planes, if that is not the provider. */
  readonly managedBy: string | undefined;
}

const describeForeignNodes = (managedBy: string): string =>
  `spec.oidc: the nodes of the Cluster are managed by ${managedBy}, and the provider does not change which issuers their API servers trust. Use spec.token.`;

type InstanceStores = ProviderInstance & Pick<Services, 'stores'>;

/** Decides the OIDC issuers that a Cluster must trust, from the caches. */
export function decideClusterTrust(services: InstanceStores, known: ClusterTrustInput): TrustDecision {
  const { spec, record, machines } = known;
  if (known.managedBy !== undefined)
    return rejectAllTrust(findOidcRequests(services, known), describeForeignNodes(known.managedBy));
  const controlPlanes = controlPlanesOf(machines);
  // What runs decides, and not what is to run: a node changes the form of its configuration with its system.
  const versions = controlPlanes.length > 0 ? controlPlanes.map(runningTalosVersion) : [spec.talos.version];
  const authorities = new Map(spec.access.oidcIssuers.map(({ issuer, caBundle }) => [issuer, caBundle]));
  const hasFile = (ca: string): boolean =>
    controlPlanes.every((machine) => machine.spec.issuerAuthorities?.includes(issuerCaId(ca)));
  return decideTrust({
    record,
    requests: findOidcRequests(services, known),
    many: versions.every((version) => isAtLeastMinor(version, '1.14')),
    authorities,
    hasFile,
    ownIssuers: findOwnIssuers(spec, known.endpoint ?? controlPlanes[0]?.spec.endpoint),
    usedIssuers: findTrustPatchField(spec),
    config: known.config,
  });
}

/**
 * The requests that the operator assigned to this provider, and the requests with a trusted issuer: after a change of
 * its spec, a request is unassigned until the operator has processed it.
 */
function findOidcRequests(services: InstanceStores, known: ClusterTrustInput): AccessRequest[] {
  const { stores, provider } = services;
  return stores.accessRequests
    .by('cluster', formatObjectKey(known.ref))
    .filter(
      (request) =>
        request.spec.oidc && !request.metadata.deletionTimestamp && !isNoLongerResponsible(request, services),
    )
    .filter((request) => isResponsible(request, provider) || isTrustedFor(known.record, request.metadata.uid));
}

/**
 * The endpoint and the issuers that patches configure. The endpoint counts in any case, because nodes may have been
 * created before the patches.
 */
function findOwnIssuers({ talos, controlPlane }: ProviderConfigSpec, endpoint: string | undefined): string[] {
  const named = [...talos.patches, ...controlPlane.patches].flatMap((patch) => [
    valueAt(patch, 'cluster.apiServer.extraArgs.service-account-issuer'),
    ...(patch['kind'] === 'KubeServiceAccountConfig'
      ? [valueAt(patch, 'issuer.issuerURL'), valueAt(patch, 'accepted.issuers')]
      : []),
    ...(patch['kind'] === 'KubeAPIServerConfig' ? [valueAt(patch, 'extraArgs.service-account-issuer')] : []),
  ]);
  return [endpoint, ...named].flat().filter((one): one is string => typeof one === 'string');
}

/** The field of the patch that configures the authentication of API servers. */
function findTrustPatchField({ talos, controlPlane }: ProviderConfigSpec): string | undefined {
  const all = [
    ...talos.patches.map((patch, i) => ({ field: `talos.patches[${i}]`, patch })),
    ...controlPlane.patches.map((patch, i) => ({ field: `controlPlane.patches[${i}]`, patch })),
  ];
  return all.find(({ patch }) => configuresTrust(patch))?.field;
}

function configuresTrust(patch: Readonly<Record<string, unknown>>): boolean {
  if (patch['kind'] === 'KubeAuthenticationConfig') return true;
  const cluster = patch['cluster'] as { apiServer?: { extraArgs?: Record<string, unknown> } } | undefined;
  const names = Object.keys(cluster?.apiServer?.extraArgs ?? {});
  return names.some((name) => name.startsWith('oidc-') || name === 'authentication-config');
}
