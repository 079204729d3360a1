import type { ControlPlaneCandidate, EndpointFailoverContext } from '../../engine/capabilities/endpoint.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { RobotClient } from './api/client.ts';
import type { FailoverAddress } from './api/schema.ts';
import type { RobotConfig } from './config.ts';
import { robotClientFor } from './context.ts';
import { hasCode } from './errors.ts';

/** Where it leads changes by our hands, or by those of people: of 100 questions an hour this leaves enough to others. */
const routeMaxAgeSeconds = 60;

/** A failover address as Robot tells of it just now; undefined: the account has none of this name. */
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

/** In a sentence: the account does not have it. */
export const describeUnknownFailover = (address: string): string =>
  `${address} is not a failover address of this account. Name one that is.`;

/**
 * Leads the failover address to a control plane that works, unless it leads to one. Robot answers after about a minute, when it
 * is done; others are served meanwhile.
 */
export async function failOverEndpoint(context: EndpointFailoverContext<RobotConfig>): Promise<string | undefined> {
  const { config, connections, planes, clock, log } = context;
  const { failoverAddress: ip, url } = config;
  if (ip === undefined) return undefined;
  const robot = robotClientFor(context, context.servers);
  const route = connections.get(
    `hetzner-robot-failover:${url}:${ip}`,
    () => new FailoverRoute(ip, clock, connections.signal),
  );
  if (route.underWay !== undefined)
    return `${ip} is being led to server ${route.underWay}, which takes about a minute.`;
  const leadsTo = await route.find(robot, context.signal);
  if (planes.some((plane) => plane.works && leadsTo !== undefined && controlPlaneAddresses(plane).includes(leadsTo)))
    return undefined;
  const target = planes.find((plane) => plane.works && typeof plane.facts['server'] === 'number');
  if (!target) return undefined;
  const number = Number(target.facts['server']);
  route.lead(robot, number, log);
  return `${ip} is being led to server ${number}, which takes about a minute.`;
}

const controlPlaneAddresses = ({ facts }: ControlPlaneCandidate): unknown[] => [facts['address'], facts['ipv6Net']];

/** One failover address, and where it was last seen to lead. One change at a time. */
class FailoverRoute {
  readonly #ip: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #seen: { readonly at: number; readonly routedTo: string | undefined } | undefined;
  /** Number of the server that it is being led to. */
  underWay: number | undefined;

  constructor(ip: string, clock: Clock, signal: AbortSignal) {
    this.#ip = ip;
    this.#clock = clock;
    this.#signal = signal;
  }

  async find(robot: RobotClient, signal: AbortSignal): Promise<string | undefined> {
    const now = this.#clock.monotonic();
    if (!this.#seen || now - this.#seen.at > routeMaxAgeSeconds * 1000) {
      const { routedTo } = await robot.getFailover(this.#ip, { signal });
      this.#seen = { at: now, routedTo };
    }
    return this.#seen.routedTo;
  }

  lead(robot: RobotClient, number: number, log: Log): void {
    this.underWay = number;
    robot
      .routeFailover(this.#ip, number, { signal: this.#signal })
      .then(
        () => log.info({ address: this.#ip, server: number }, 'failover address was led to another server'),
        (error: unknown) => log.warn({ address: this.#ip, server: number, error }, 'failover address was not led'),
      )
      .finally(() => {
        this.underWay = undefined;
        this.#seen = undefined;
      });
  }

  close(): void {
    // What is under way ends with the signal.
  }
}
