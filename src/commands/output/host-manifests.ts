import { stringify } from 'yaml';
import { Host } from '../../api/host.ts';
import { labels } from '../../api/names.ts';
import type { AccountServer } from '../../engine/capabilities/hosts.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { trimTrailing } from '../../lib/text.ts';

type ExistingHost = Pick<Host, 'metadata' | 'spec'>;

/** Longest values that the kind Host takes, in characters. */
const maxLengths = { address: 45, product: 64, description: 1024 } as const;

/**
 * Servers as documents of YAML, each a Host in maintenance that can be applied as it is. One that has a Host already, and one
 * that nothing but its number is told of, are left out and counted at the end.
 */
export function formatHostManifests(servers: readonly AccountServer[], known: readonly ExistingHost[]): string {
  const isKnown = ({ number }: AccountServer) => known.some(({ spec }) => spec.serverNumber === number);
  const names = new Set(known.map(({ metadata }) => metadata.name));
  const fresh = servers.filter((server) => !isKnown(server));
  const documents = fresh.filter(hasExpectation).map((server) => formatHostManifest(server, names));
  const vague = fresh.filter((server) => !hasExpectation(server));
  const ends = [
    ...describeOmitted(servers.length - fresh.length, 'a Host already'),
    ...describeOmitted(
      vague.length,
      `neither an address nor a product (${vague.map(({ number }) => number).join(', ')})`,
    ),
  ];
  if (servers.length === 0) ends.push('# The account has no servers.');
  return [...documents, ...(ends.length > 0 ? [ends.join('\n')] : [])].join('\n---\n');
}

const describeOmitted = (number: number, what: string): string[] =>
  number === 0 ? [] : [`# Left out: ${number} ${number === 1 ? 'server that has' : 'servers that have'} ${what}.`];

/** A number alone is mistyped too easily, so a Host has to say more. */
const hasExpectation = (server: AccountServer): boolean => Object.keys(toExpectation(server)).length > 0;

/** One that is too long for a Host is left out: half of it would be another one. */
function toExpectation({ address, product }: AccountServer): { address?: string; product?: string } {
  return {
    ...(address && address.length <= maxLengths.address ? { address } : {}),
    ...(product.trim() !== '' && product.length <= maxLengths.product ? { product } : {}),
  };
}

function formatHostManifest(server: AccountServer, names: ReadonlySet<string>): string {
  const { number, product, location, oddities } = server;
  const description = server.name.trim().slice(0, maxLengths.description).trimEnd();
  const given = { [labels.product]: toLabelValue(product), [labels.location]: toLabelValue(location) };
  const object = {
    apiVersion: apiVersionOf(Host),
    kind: Host.kind,
    metadata: {
      name: findFreeName(`server-${number}`, names),
      labels: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')),
    },
    spec: {
      serverNumber: number,
      expect: toExpectation(server),
      maintenance: true,
      ...(description === '' ? {} : { description }),
    },
  };
  const odd = oddities.length > 0 ? `# ${toCommentLine(oddities.join(' '))}\n` : '';
  return `${odd}${stringify(object, { lineWidth: 0 }).trimEnd()}`;
}

/** A Host of that name for another server cannot become one for this. */
function findFreeName(wanted: string, names: ReadonlySet<string>): string {
  let name = wanted;
  for (let suffix = 2; names.has(name); suffix += 1) name = `${wanted}-${suffix}`;
  return name;
}

/** The nearest label value: at most 63 of `[A-Za-z0-9._-]`, letters or digits at both ends. */
const toLabelValue = (text: string): string =>
  trimTrailing(
    text
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 63),
    /[^A-Za-z0-9]/,
  );

/** What people called a server may end a comment and begin a document. */
const toCommentLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
