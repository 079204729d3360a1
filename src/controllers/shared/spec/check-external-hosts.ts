import { isIP } from 'node:net';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { ConfiguredHost } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { hostOfUrl, parseIp } from '../../../lib/net/ip.ts';
import { isDnsName, toUrl } from '../../../talos/config/schema/formats.ts';
import { invalidField } from './invalid-field.ts';

/** Every external host in a spec must be a valid name or address. */
export function checkExternalHosts(spec: ProviderConfigSpec): Diagnostic[] {
  const { network, talos, controlPlane } = spec;
  return [
    ...(network.nameServers ?? []).flatMap((text, i) =>
      requireThat(
        isIP(text) !== 0,
        `network.nameServers[${i}]`,
        `${text} is not an IP address. Use an address like 192.168.10.1.`,
      ),
    ),
    ...network.timeServers.flatMap((text, i) =>
      requireThat(
        isHostNameOrIp(text),
        `network.timeServers[${i}]`,
        `${text} is neither a host name nor an IP address. Use a name like ntp.example.org.`,
      ),
    ),
    ...requireThat(
      isDnsName(network.dnsDomain),
      'network.dnsDomain',
      `${network.dnsDomain} is not a DNS name. Use a name like cluster.local.`,
    ),
    ...checkFactory(talos.factoryUrl),
    ...checkDiscovery(talos.discovery.endpoint),
    ...checkEndpoint(controlPlane.endpoint),
  ];
}

const requireThat = (holds: boolean, field: string, message: string): Diagnostic[] =>
  holds ? [] : [invalidField(field, message)];

/** A name of digits and dots alone is an invalid address. */
const isHostNameOrIp = (text: string): boolean => isIP(text) !== 0 || (isDnsName(text) && !/^[\d.]+$/.test(text));

/** Image references of installers contain the factory host. They support neither user names nor upper case. */
function checkFactory(text: string): Diagnostic[] {
  const url = toUrl(text);
  const plain = url && isHostNameOrIp(hostOfUrl(url)) && url.username === '' && url.search === '' && url.hash === '';
  return requireThat(
    plain === true && /^[a-z0-9._/-]*$/.test(url?.pathname ?? ''),
    'talos.factoryUrl',
    'Use a URL with a host, an optional port and a lower-case path, without user, query or fragment, like https://factory.example.org.',
  );
}

function checkDiscovery(text: string | undefined): Diagnostic[] {
  const url = toUrl(text);
  const plain = url && isHostNameOrIp(hostOfUrl(url)) && url.username === '' && url.search === '' && url.hash === '';
  return requireThat(
    text === undefined || (plain === true && ['', '/'].includes(url.pathname)),
    'talos.discovery.endpoint',
    'Use a URL with a host and an optional port, without user, path or query, like https://discovery.example.org.',
  );
}

function checkEndpoint(text: string | undefined): Diagnostic[] {
  if (text === undefined) return [];
  const host = hostOf(text);
  const port = portOf(text);
  return requireThat(
    host !== undefined && (port === undefined || (port > 0 && port < 65_536)),
    'controlPlane.endpoint',
    `${text} is not a host name or IP address with an optional port up to 65535. Use e.g. k8s.example.org, 192.168.10.5:6443 or [fd00::5]:6443.`,
  );
}

/** The host of `host`, `host:port` or `[address]:port`; undefined if there is none. */
function hostOf(endpoint: string): string | undefined {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(endpoint);
  const [, six, other] = found ?? [];
  if (six !== undefined) return isIP(six) === 6 ? six : undefined;
  return other !== undefined && isHostNameOrIp(other) ? other : undefined;
}

function portOf(endpoint: string): number | undefined {
  const port = /:(\d{1,5})$/.exec(endpoint)?.[1];
  return port === undefined ? undefined : Number(port);
}

/** Empty for an invalid URL. */
function hostIn(text: string | undefined): string {
  const url = toUrl(text);
  return url ? hostOfUrl(url) : '';
}

/** The address in an endpoint; undefined for a name or an invalid endpoint. */
export function endpointAddressOf(endpoint: string): string | undefined {
  const host = hostOf(endpoint);
  return host !== undefined && isIP(host) !== 0 ? host : undefined;
}

/** All addresses of external hosts in a spec, each with its fields. Names are not resolved. */
export function listExternalAddresses(
  spec: ProviderConfigSpec,
  ofPlatform: readonly ConfiguredHost[],
): ConfiguredHost[] {
  const { network, talos, controlPlane } = spec;
  const { endpoint } = controlPlane;
  const address = endpoint === undefined ? undefined : endpointAddressOf(endpoint);
  const urls = { 'talos.factoryUrl': talos.factoryUrl, 'talos.discovery.endpoint': talos.discovery.endpoint };
  const named: ConfiguredHost[] = [
    ...(network.gateway === undefined ? [] : [{ field: 'network.gateway', host: network.gateway }]),
    ...(network.nameServers ?? []).map((host, i) => ({ field: `network.nameServers[${i}]`, host })),
    ...network.timeServers.map((host, i) => ({ field: `network.timeServers[${i}]`, host })),
    ...(address === undefined ? [] : [{ field: 'controlPlane.endpoint', host: address }]),
    ...Object.entries(urls).map(([field, url]) => ({ field, host: hostIn(url) })),
    ...ofPlatform,
  ];
  const hosts = [...new Set(named.map(({ host }) => host))].filter((host) => parseIp(host) !== undefined);
  const fieldsOf = (host: string) => named.filter((one) => one.host === host).map(({ field }) => field);
  return hosts.map((host) => ({ host, field: fieldsOf(host).join(' and ') }));
}
