import type { Machine } from '../../../api/machine.ts';
import type { ProviderInstance } from '../../../api/names.ts';
import type { AccessRequest, NamespacedRef } from '../../../api/openmcp/types.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { formatObjectKey } from '../../../kube/resource.ts';
import { issuerCaId, valueAt } from '../../../talos/config/machine-config.ts';
import { isAtLeastMinor } from '../../../talos/versions.ts';
import { isNoLongerResponsible, isResponsible } from '../../access-request/responsibility.ts';
import type { Services } from '../../shared/services.ts';
import { decideTrust, type TrustDecision } from './decide-trust.ts';
import { isTrustedFor, type TrustRecord } from './trust-record.ts';
import { controlPlanesOf } from './trust-trial.ts';

interface ClusterTrustInput {
  readonly ref: NamespacedRef;
  readonly config: string;
  readonly spec: ProviderConfigSpec;
  readonly record: TrustRecord | undefined;
  readonly machines: readonly Machine[];
  readonly endpoint: string | undefined;
}

type InstanceStores = ProviderInstance & Pick<Services, 'stores'>;

/** Whom a Cluster is to trust, from what the stores know right now. */
export function decideClusterTrust(services: InstanceStores, known: ClusterTrustInput): TrustDecision {
  const { spec, record, machines } = known;
  const planes = controlPlanesOf(machines);
  const versions = planes.length > 0 ? planes.map((machine) => machine.spec.talosVersion) : [spec.talos.version];
  const authorities = new Map(spec.access.oidcIssuers.map(({ issuer, caBundle }) => [issuer, caBundle]));
  const hasFile = (ca: string): boolean =>
    planes.every((machine) => machine.spec.issuerAuthorities?.includes(issuerCaId(ca)));
  return decideTrust({
    record,
    requests: findOidcRequests(services, known),
    many: versions.every((version) => isAtLeastMinor(version, '1.14')),
    authorities,
    hasFile,
    ownIssuers: findOwnIssuers(spec, known.endpoint ?? planes[0]?.spec.endpoint),
    taken: findTrustPatchField(spec),
    config: known.config,
  });
}

/** Those that were handed to us, and those that are trusted already: between two specs nobody has them in hand. */
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

/** The endpoint, unless patches say otherwise; what they say counts beside it, because nodes may have been made before. */
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

/** The patch that says whom API servers trust, by its field. */
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
