import type { Machine } from '../../api/machine.ts';
import type { Instance } from '../../api/names.ts';
import type { AccessRequest, NamespacedRef } from '../../api/openmcp.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { keyText } from '../../kube/resource.ts';
import { authorityId, valueAt } from '../../talos/machine-config.ts';
import { atLeast } from '../../talos/versions.ts';
import { hasLeft, isResponsible } from '../access-request/responsible.ts';
import type { Services } from '../services.ts';
import { decideTrust, type TrustDecision } from './decide.ts';
import { isMentioned, type TrustRecord } from './record.ts';
import { controlPlanesOf } from './trial.ts';

interface Known {
  readonly ref: NamespacedRef;
  readonly config: string;
  readonly spec: ProviderConfigSpec;
  readonly record: TrustRecord | undefined;
  readonly machines: readonly Machine[];
  readonly endpoint: string | undefined;
}

type Room = Instance & Pick<Services, 'stores'>;

/** Whom a Cluster is to trust, from what the stores know right now. */
export function decideFor(services: Room, known: Known): TrustDecision {
  const { spec, record, machines } = known;
  const planes = controlPlanesOf(machines);
  const versions = planes.length > 0 ? planes.map((machine) => machine.spec.talosVersion) : [spec.talos.version];
  const authorities = new Map(spec.access.oidcIssuers.map(({ issuer, caBundle }) => [issuer, caBundle]));
  const hasFile = (ca: string): boolean =>
    planes.every((machine) => machine.spec.issuerAuthorities?.includes(authorityId(ca)));
  return decideTrust({
    record,
    requests: requestsOf(services, known),
    many: versions.every((version) => atLeast(version, '1.14')),
    authorities,
    hasFile,
    ownIssuers: ownIssuers(spec, known.endpoint ?? planes[0]?.spec.endpoint),
    taken: findPatch(spec),
    config: known.config,
  });
}

/** Those that were handed to us, and those that are trusted already: between two specs nobody has them in hand. */
function requestsOf(services: Room, known: Known): AccessRequest[] {
  const { stores, provider } = services;
  return stores.accessRequests
    .by('cluster', keyText(known.ref))
    .filter((request) => request.spec.oidc && !request.metadata.deletionTimestamp && !hasLeft(request, services))
    .filter((request) => isResponsible(request, provider) || isMentioned(known.record, request.metadata.uid));
}

/** The endpoint, unless patches say otherwise; what they say counts beside it, because nodes may have been made before. */
function ownIssuers({ talos, controlPlane }: ProviderConfigSpec, endpoint: string | undefined): string[] {
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
function findPatch({ talos, controlPlane }: ProviderConfigSpec): string | undefined {
  const all = [
    ...talos.patches.map((patch, i) => ({ field: `talos.patches[${i}]`, patch })),
    ...controlPlane.patches.map((patch, i) => ({ field: `controlPlane.patches[${i}]`, patch })),
  ];
  return all.find(({ patch }) => saysTrust(patch))?.field;
}

function saysTrust(patch: Readonly<Record<string, unknown>>): boolean {
  if (patch['kind'] === 'KubeAuthenticationConfig') return true;
  const cluster = patch['cluster'] as { apiServer?: { extraArgs?: Record<string, unknown> } } | undefined;
  const names = Object.keys(cluster?.apiServer?.extraArgs ?? {});
  return names.some((name) => name.startsWith('oidc-') || name === 'authentication-config');
}
