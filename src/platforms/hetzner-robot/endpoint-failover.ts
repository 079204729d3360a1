import type { ControlPlaneCandidate, EndpointFailoverContext } from '../../engine/capabilities/endpoint.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { RobotClient } from './api/client.ts';
import type { FailoverAddress } from './api/schema.ts';
import type { RobotConfig } from './config.ts';
import { robotClientFor } from './context.ts';
import { hasCode } from './errors.ts';

/** Maximum age of the route, which other clients may change: of 100 calls an hour this leaves enough to them. */
const routeMaxAgeSeconds = 60;

/** A failover address as Robot reports it now; undefined: the account does not have it. */
export async function findFailoverAddress(
  robot: RobotClient,
  address: string,
  signal: AbortSignal,
): Promise<FailoverAddress | undefined> {
  try {
    return await robot.getFailover(address, { signal });
  } catch (error) {
    if (hasCode(error, 'ROBOT_NOT_FOUND')) return undefined;
    throw error;
  }
}

/** The message for an address that the account does not have. */
export const describeUnknownFailover = (address: string): string =>
  `${address} is not a failover address of this account. Correct it.`;

/**
 * Routes the failover address to a working control plane, unless it is routed to one. Robot answers when it is done,
 * after about a minute; other reconciles go on meanwhile.
 */
export async function failOverEndpoint(context: EndpointFailoverContext<RobotConfig>): Promise<string | undefined> {
  const { config, connections, controlPlanes, clock, log } = context;
  const { failoverAddress: ip, url } = config;
  if (ip === undefined) return undefined;
  const robot = robotClientFor(context, context.hostedServers);
  const route = connections.get(
    `hetzner-robot-failover:${url}:${ip}`,
    () => new FailoverRoute(ip, clock, connections.signal),
  );
  if (route.inProgress !== undefined)
    return `${ip} is being routed to server ${route.inProgress}, which takes about a minute.`;
  const leadsTo = await route.find(robot, context.signal);
  if (
    controlPlanes.some(
      (controlPlane) =>
        controlPlane.isHealthy && leadsTo !== undefined && controlPlaneAddresses(controlPlane).includes(leadsTo),
    )
  )
    return undefined;
  const target = controlPlanes.find(
    (controlPlane) => controlPlane.isHealthy && typeof controlPlane.facts['server'] === 'number',
  );
  if (!target) return undefined;
  const number = Number(target.facts['server']);
  route.failOver(robot, number, log);
  return `${ip} is being routed to server ${number}, which takes about a minute.`;
}

const controlPlaneAddresses = ({ facts }: ControlPlaneCandidate): unknown[] => [facts['address'], facts['ipv6Net']];

/** One failover address, and the server that it was last routed to. One change at a time. */
class FailoverRoute {
  readonly #ip: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #observed: { readonly at: number; readonly routedTo: string | undefined } | undefined;
  /** Number of the server that the address is being routed to. */
  inProgress: number | undefined;

  constructor(ip: string, clock: Clock, signal: AbortSignal) {
    this.#ip = ip;
    this.#clock = clock;
    this.#signal = signal;
  }

  async find(robot: RobotClient, signal: AbortSignal): Promise<string | undefined> {
    const now = this.#clock.monotonic();
    if (!this.#observed || now - this.#observed.at > routeMaxAgeSeconds * 1000) {
      const { routedTo } = await robot.getFailover(this.#ip, { signal });
      this.#observed = { at: now, routedTo };
    }
    return this.#observed.routedTo;
  }

  failOver(robot: RobotClient, number: number, log: Log): void {
    this.inProgress = number;
    robot
      .routeFailover(this.#ip, number, { signal: this.#signal })
      .then(
        () => log.info({ address: this.#ip, server: number }, 'failover address was routed to another server'),
        (error: unknown) =>
          log.warn({ address: this.#ip, server: number, error }, 'failover address could not be routed'),
      )
      .finally(() => {
        this.inProgress = undefined;
        this.#observed = undefined;
      });
  }

  close(): void {
    // A change in progress ends with the signal.
  }
}
