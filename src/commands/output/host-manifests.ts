import { stringify } from 'yaml';
import { Host, hostsOfPlatform, serverIDsOf } from '../../api/host.ts';
import { labels } from '../../api/names.ts';
import type { AccountServer } from '../../engine/capabilities/hosts.ts';
import { toLabelValue } from '../../engine/node-labels.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { trimTrailing } from '../../lib/text.ts';

/** Maximum lengths of values in the Host schema, in characters. */
const maxLengths = { address: 45, product: 64, description: 1024 } as const;

/** A Host that does not exist yet, and what to know about its server. */
interface HostManifest {
  readonly object: object;
  readonly warnings: readonly string[];
}

interface HostManifests {
  readonly manifests: readonly HostManifest[];
  /** Comments about what was left out. */
  readonly ends: readonly string[];
}

/**
 * Servers as YAML documents, each a Host in maintenance that can be applied as it is. A server that already has a Host,
 * or of which only the ID is known, is left out and counted at the end.
 */
export function formatHostManifests(...servers: Parameters<typeof planManifests>): string {
  const { manifests, ends } = planManifests(...servers);
  const documents = manifests.map(formatManifest);
  return [...documents, ...(ends.length > 0 ? [ends.join('\n')] : [])].join('\n---\n');
}

/** The same Hosts as one object. */
export const toHostList = (...servers: Parameters<typeof planManifests>): object => ({
  ...{ apiVersion: 'v1', kind: 'List' },
  items: planManifests(...servers).manifests.map(({ object }) => object),
});

function planManifests(platform: string, servers: readonly AccountServer[], known: readonly Host[]): HostManifests {
  const hosted = serverIDsOf(hostsOfPlatform(known, platform));
  const isKnown = ({ id }: AccountServer) => hosted.has(id);
  const names = new Set(known.map(({ metadata }) => metadata.name));
  const fresh = servers.filter((server) => !isKnown(server));
  const manifests = fresh.filter(hasExpectation).map((server) => toManifest(platform, server, names));
  const vague = fresh.filter((server) => !hasExpectation(server));
  const ends = [
    ...describeOmitted(servers.length - fresh.length, 'a Host'),
    ...describeOmitted(vague.length, `no address and no product (${vague.map(({ id }) => id).join(', ')})`),
  ];
  if (servers.length === 0) ends.push('# The account has no servers.');
  return { manifests, ends };
}

const describeOmitted = (number: number, what: string): string[] =>
  number === 0 ? [] : [`# Omitted: ${number} ${number === 1 ? 'server that has' : 'servers that have'} ${what}.`];

/** An ID alone is mistyped too easily, so a Host must name another property. */
const hasExpectation = (server: AccountServer): boolean => Object.keys(toExpectation(server)).length > 0;

/** A value that is too long for a Host is left out: a truncated one would be a different value. */
function toExpectation({ address, product }: AccountServer): { address?: string; product?: string } {
  return {
    ...(address && address.length <= maxLengths.address ? { address } : {}),
    ...(product.trim() !== '' && product.length <= maxLengths.product ? { product } : {}),
  };
}

function toManifest(platform: string, server: AccountServer, names: Set<string>): HostManifest {
  const { id, product, location, warnings } = server;
  const description = server.name.trim().slice(0, maxLengths.description).trimEnd();
  const given = { [labels.product]: toLabelValue(product), [labels.location]: toLabelValue(location) };
  const object = {
    apiVersion: apiVersionOf(Host),
    kind: Host.kind,
    metadata: {
      name: takeFreeName(toHostName(id), names),
      labels: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')),
    },
    spec: {
      serverID: id,
      [platform]: {},
      expect: toExpectation(server),
      maintenance: true,
      ...(description === '' ? {} : { description }),
    },
  };
  return { object, warnings };
}

function formatManifest({ object, warnings }: HostManifest): string {
  const comment = warnings.length > 0 ? `# ${toCommentLine(warnings.join(' '))}\n` : '';
  return `${comment}${stringify(object, { lineWidth: 0 }).trimEnd()}`;
}

/** The nearest name of an object, with space for a suffix. */
const toHostName = (id: string): string =>
  trimTrailing(`server-${id.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.slice(0, 56), /-/);

/** A name that no Host has, existing or printed. It counts as taken from now on. */
function takeFreeName(wanted: string, names: Set<string>): string {
  let name = wanted;
  for (let suffix = 2; names.has(name); suffix += 1) name = `${wanted}-${suffix}`;
  names.add(name);
  return name;
}

/** The name of a server could end the comment and begin a document. */
const toCommentLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
