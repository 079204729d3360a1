import { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { AccessRequest, Cluster } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { AccessAttributes } from '../../kube/client/client-types.ts';
import { Event } from '../../kube/event-recorder.ts';
import type { ResourceType } from '../../kube/resource.ts';

const listOf = ({ group, plural }: ResourceType): AccessAttributes => ({ verb: 'list', group, resource: plural });

/** What a viewer must be allowed to do: to list every kind that a view shows, in all namespaces. */
export const viewerAccess: readonly [AccessAttributes, ...AccessAttributes[]] = [
  listOf(Cluster),
  ...[Machine, Host, ProviderConfig, AccessRequest, Event].map((type) => listOf(type as ResourceType)),
];

/** Whether only this machine can reach a server with this bind address. */
export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);

/**
 * Whether the header `Host` of a request names this machine. A web page elsewhere can make a browser send requests to a
 * loopback address under a name of its own (DNS rebinding); such a request has another host.
 */
export function namesLoopback(header: string | undefined): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(header ?? '') ?? [];
  const host = (bracketed ?? plain ?? '').toLowerCase();
  return isLoopback(host) || host.endsWith('.localhost');
}
