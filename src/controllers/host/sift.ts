import type { Host } from '../../api/host.ts';
import type { Hosts, Rejections } from '../../engine/host.ts';
import { firstOfServer, obstacleNames, toView, whyNotFree } from './standing.ts';

export type Refuse = Parameters<Hosts['claim']>[0];

/** Which of these a Machine may have, by name, and what stands against the others. */
export function sift(hosts: readonly Host[], refuse: Refuse): { fitting: readonly Host[]; rejected: Rejections } {
  const fitting: Host[] = [];
  const counts = new Map<string, number>();
  for (const host of [...hosts].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const why = whyNot(host, hosts, refuse);
    if (why === undefined) fitting.push(host);
    else counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return { fitting, rejected: inOrder(counts) };
}

/** Why a Machine cannot have this one of all Hosts, to go on after a number; undefined: it can. */
export const whyNot = (host: Host, all: readonly Host[], refuse: Refuse): string | undefined =>
  whyNotFree(host) ?? whyNotFit(host, refuse) ?? whyNotFirst(host, all);

const secondOfServer = 'are for a server that has another Host';
const invalid = 'are not valid';

function whyNotFit(host: Host, refuse: Refuse): string | undefined {
  const view = toView(host);
  return view ? refuse(view) : invalid;
}

function whyNotFirst(host: Host, all: readonly Host[]): string | undefined {
  const same = all.filter(({ spec }) => spec.serverNumber === host.spec.serverNumber);
  return firstOfServer(same) === host ? undefined : secondOfServer;
}

/** Ours first. */
function inOrder(counts: ReadonlyMap<string, number>): Rejections {
  const ours = [...obstacleNames, secondOfServer, invalid];
  const rank = (reason: string): number => (ours.includes(reason) ? ours.indexOf(reason) : ours.length);
  return new Map([...counts].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1)));
}
