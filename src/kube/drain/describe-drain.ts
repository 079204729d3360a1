import type { PodEviction } from './evict-pods.ts';
import type { Pod } from './kinds.ts';
import { formatPod, isUnmanaged } from './plan-drain.ts';

/** Bounds of a message: conditions show it, and names come from the users of a cluster. */
const maxGroups = 5;
const maxNames = 3;
const maxGroupLength = 300;

/** What a drain waits for. */
export interface DrainRemainder {
  /** Evictions that were not accepted. */
  readonly refused: readonly PodEviction[];
  /** Pods that are being deleted. */
  readonly ending: readonly Pod[];
  /** Evictions that were not tried in this pass. */
  readonly untried: readonly Pod[];
}

/** The refusals by their message, with the names of a few Pods each. */
export function describeRemainder({ refused, ending, untried }: DrainRemainder): string {
  const groups = groupRejections(refused);
  const shown = groups.slice(0, maxGroups).map(([message, pods]) => `${message} (${listNames(pods.map(formatPod))}).`);
  const left = groups.length - shown.length;
  return [
    ...shown,
    ...(left > 0 ? [`${left} further reasons are not shown.`] : []),
    ...(ending.length > 0
      ? [`Being deleted: ${count(ending.length, 'pod')} (${listNames(ending.map(formatPod))}).`]
      : []),
    ...(untried.length > 0 ? [`To be evicted next: ${count(untried.length, 'pod')}.`] : []),
    ...describeUnmanaged([...refused.map(({ pod }) => pod), ...ending, ...untried]),
  ].join(' ');
}

/** Ordered by the number of Pods, so that the messages do not alternate between two passes. */
function groupRejections(refused: readonly PodEviction[]): readonly [string, readonly Pod[]][] {
  const groups = new Map<string, Pod[]>();
  for (const { pod, answer } of refused) {
    const message = 'message' in answer ? shorten(answer.message) : answer.kind;
    groups.set(message, [...(groups.get(message) ?? []), pod]);
  }
  return [...groups].sort(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1));
}

function describeUnmanaged(pods: readonly Pod[]): readonly string[] {
  const alone = pods.filter(isUnmanaged);
  if (alone.length === 0) return [];
  return [
    `Without a controller that recreates it: ${count(alone.length, 'pod')} (${listNames(alone.map(formatPod))}).`,
  ];
}

export function listNames(names: readonly string[]): string {
  const shown = [...names].sort().slice(0, maxNames).map(shorten);
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function shorten(text: string): string {
  const bare = text.replace(/\.$/, '');
  return bare.length <= maxGroupLength ? bare : `${bare.slice(0, maxGroupLength - 1)}…`;
}
