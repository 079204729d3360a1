import { isIP } from 'node:net';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { ConfiguredHost, Diagnostic } from '../../../engine/platform.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { isDnsName, toUrl } from '../../../talos/config/schema/formats.ts';
import { invalidField } from './invalid-field.ts';

/** Every name and address of somebody else that a spec holds has to be one. */
export function checkExternalHosts(spec: ProviderConfigSpec): Diagnostic[] {
  const { network, talos, controlPlane } = spec;
  return [
    ...(network.nameServers ?? []).flatMap((text, i) =>
      requireThat(
        isIP(text) !== 0,
        `network.nameServers[${i}]`,
        `${text} is not an IP address. Write it like 192.168.10.1.`,
      ),
    ),
    ...network.timeServers.flatMap((text, i) =>
      requireThat(
        isHostNameOrIp(text),
        `network.timeServers[${i}]`,
        `${text} is neither a host name nor an IP address. Write it like ntp.example.org.`,
      ),
    ),
    ...requireThat(
      isDnsName(network.dnsDomain),
      'network.dnsDomain',
      `${network.dnsDomain} is not a DNS name. Write it like cluster.local.`,
    ),
    ...checkFactory(talos.factoryUrl),
    ...checkDiscovery(talos.discovery.endpoint),
    ...checkEndpoint(controlPlane.endpoint),
  ];
}

const requireThat = (holds: boolean, field: string, message: string): Diagnostic[] =>
  holds ? [] : [invalidField(field, message)];

/** A name of digits and dots alone is an address with a mistake in it. */
const isHostNameOrIp = (text: string): boolean => isIP(text) !== 0 || (isDnsName(text) && !/^[\d.]+$/.test(text));

/** The installers of nodes are named after it, and names of images know neither users nor capitals. */
function checkFactory(text: string): Diagnostic[] {
  const url = toUrl(text);
  const plain =
    url && isHostNameOrIp(withoutBrackets(url.hostname)) && url.username === '' && url.search === '' && url.hash === '';
  return requireThat(
    plain === true && /^[a-z0-9._/-]*$/.test(url?.pathname ?? ''),
    'talos.factoryUrl',
    'It has to be a host with an optional port and a path in lower case, without user, query or fragment. Write it like https://factory.example.org.',
  );
}

function checkDiscovery(text: string | undefined): Diagnostic[] {
  const url = toUrl(text);
  const plain =
    url && isHostNameOrIp(withoutBrackets(url.hostname)) && url.username === '' && url.search === '' && url.hash === '';
  return requireThat(
    text === undefined || (plain === true && ['', '/'].includes(url.pathname)),
    'talos.discovery.endpoint',
    'It has to be a host with an optional port, without user, path or query. Write it like https://discovery.example.org.',
  );
}

function checkEndpoint(text: string | undefined): Diagnostic[] {
  if (text === undefined) return [];
  const host = hostOf(text);
  const port = portOf(text);
  return requireThat(
    host !== undefined && (port === undefined || (port > 0 && port < 65_536)),
    'controlPlane.endpoint',
    `${text} is neither a host name nor an IP address, with an optional port up to 65535. Write it like k8s.example.org, 192.168.10.5:6443 or [fd00::5]:6443.`,
  );
}

/** The host of `host`, `host:port` or `[address]:port`; undefined when there is none. */
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

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** The address in an endpoint, unless that is a name or none. */
export function endpointAddressOf(endpoint: string): string | undefined {
  const host = hostOf(endpoint);
  return host !== undefined && isIP(host) !== 0 ? host : undefined;
}

/** All addresses in a spec that belong to somebody else, each with the fields that say so. Names may lead anywhere. */
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
    ...Object.entries(urls).map(([field, url]) => ({ field, host: withoutBrackets(toUrl(url)?.hostname ?? '') })),
    ...ofPlatform,
  ];
  const hosts = [...new Set(named.map(({ host }) => host))].filter((host) => parseIp(host) !== undefined);
  const fieldsOf = (host: string) => named.filter((one) => one.host === host).map(({ field }) => field);
  return hosts.map((host) => ({ host, field: fieldsOf(host).join(' and ') }));
}
