import type { ComponentChildren } from 'preact';
import {
  type AddressPoolJson,
  type ClusterRowJson,
  type ConfigRolloutJson,
  clusterHealths,
  type FleetJson,
  type SystemJson,
} from '../api-types.ts';
import { formatBytes, formatSeconds, plural, secondsBetween } from './format.ts';
import { Bar, Cause, ClusterLink, HealthPill, healthNames, Section } from './parts.tsx';

interface FleetProps {
  readonly fleet: FleetJson;
  readonly now: number;
}

/** From the good to the bad, as a reader expects a bar to be filled. */
const barOrder = [...clusterHealths].reverse();

export const FleetPage = ({ fleet, now }: FleetProps) => (
  <>
    <Headline fleet={fleet} />
    <Figures fleet={fleet} now={now} />
    <Problems problems={fleet.problems} now={now} />
    {fleet.rollouts.configs.length > 0 && <Rollouts rollouts={fleet.rollouts.configs} />}
    <Systems fleet={fleet} />
    {fleet.addressPools.length > 0 && <AddressPools pools={fleet.addressPools} />}
  </>
);

export const describeFleet = ({ clusters }: FleetJson): string =>
  clusters.total === 0
    ? 'There are no clusters'
    : `${clusters.byHealth.ready} of ${plural(clusters.total, 'cluster')} ${clusters.byHealth.ready === 1 ? 'is' : 'are'} ready`;

const Headline = ({ fleet }: { readonly fleet: FleetJson }) => {
  const { clusters, machines } = fleet;
  return (
    <header class="headline">
      <h1 tabIndex={-1}>{describeFleet(fleet)}</h1>
      <p class="sub">
        {machines.ready} of {plural(machines.total, 'machine')} ready
        {!fleet.isComplete && ' · still reading from the API server'}
      </p>
      {clusters.total > 0 && (
        <>
          <div class="health" aria-hidden="true">
            {barOrder
              .filter((health) => clusters.byHealth[health] > 0)
              .map((health) => (
                <span key={health} class={health} style={{ flexGrow: clusters.byHealth[health] }} />
              ))}
          </div>
          <ul class="legend">
            {barOrder
              .filter((health) => clusters.byHealth[health] > 0)
              .map((health) => (
                <li key={health}>
                  <a href={`#/clusters?health=${health}`}>
                    <span class={`dot ${health}`} />
                    {healthNames[health]} <b>{clusters.byHealth[health]}</b>
                  </a>
                </li>
              ))}
          </ul>
        </>
      )}
    </header>
  );
};

interface FigureProps {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly children: ComponentChildren;
}

const Figure = ({ name, value, children }: FigureProps) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
    <dd class="detail">{children}</dd>
  </div>
);

const Figures = ({ fleet: { rollouts, backups, hosts, addressPools }, now }: FleetProps) => (
  <dl class="figures">
    <RolloutFigure rollouts={rollouts} />
    <BackupFigure backups={backups} now={now} />
    <Figure name="Free hosts" value={hosts ? hosts.free : 'No Hosts'}>
      {hosts && `of ${hosts.total}`}
      {hosts && hosts.failed > 0 && <span class="late">{hosts.failed} failed</span>}
    </Figure>
    <AddressFigure pools={addressPools} />
  </dl>
);

const RolloutFigure = ({ rollouts: { changingClusters, configs } }: Pick<FleetJson, 'rollouts'>) => {
  const machines = configs.reduce((sum, one) => sum + one.total - one.updated, 0);
  const isIdle = changingClusters === 0 && machines === 0;
  return (
    <Figure name="In rollout" value={isIdle ? 'None' : plural(machines, 'machine')}>
      {changingClusters > 0 && `${plural(changingClusters, 'cluster')} changing`}
    </Figure>
  );
};

const BackupFigure = ({ backups: { oldest, failing }, now }: Pick<FleetJson, 'backups'> & { now: number }) => {
  const age = oldest && formatSeconds(secondsBetween(oldest.since, now));
  return (
    <Figure name="Oldest backup" value={oldest?.isMissing ? 'Missing' : (age ?? 'None scheduled')}>
      {oldest && <ClusterLink {...oldest} />}
      {failing > 0 && <span class="late">{failing} failing</span>}
    </Figure>
  );
};

const AddressFigure = ({ pools }: { readonly pools: readonly AddressPoolJson[] }) => {
  const smallest = pools.find(({ free }) => free !== undefined);
  return (
    <Figure name="Free addresses" value={smallest ? smallest.free : pools.length > 0 ? '…' : 'No pools'}>
      {smallest && (pools.length > 1 ? `in the smallest of ${pools.length} pools` : `of ${smallest.total}`)}
    </Figure>
  );
};

const Problems = ({ problems, now }: { problems: FleetJson['problems']; now: number }) =>
  problems.total === 0 ? null : (
    <Section title="Needs a look" note={problems.total}>
      <ul class="problems">
        {problems.first.map((cluster) => (
          <Problem key={`${cluster.namespace}/${cluster.name}`} cluster={cluster} now={now} />
        ))}
      </ul>
      {problems.total > problems.first.length && (
        <p class="empty">
          <a href="#/clusters">All {problems.total}</a>
        </p>
      )}
    </Section>
  );

const Problem = ({ cluster, now }: { readonly cluster: ClusterRowJson; readonly now: number }) => (
  <li>
    <div class="who">
      <ClusterLink {...cluster} />
      <HealthPill health={cluster.health} />
    </div>
    {cluster.cause && <Cause cause={cluster.cause} now={now} />}
  </li>
);

const Rollouts = ({ rollouts }: { readonly rollouts: readonly ConfigRolloutJson[] }) => (
  <Section title="Rollouts">
    <ul class="meters">
      {rollouts.map(({ config, total, updated, updating, failed, isPaused }) => (
        <li key={config}>
          <span class="name">{config}</span>
          <Bar
            share={updated / Math.max(1, total)}
            label={`${updated} of ${total} machines updated`}
            tone={failed > 0 ? 'unhealthy' : 'creating'}
          />
          <span class="figure">
            {updated} of {total}
            {updating > 0 && `, ${updating} now`}
            {failed > 0 && <span class="late">{failed} failed</span>}
            {isPaused && <span class="late">paused</span>}
          </span>
        </li>
      ))}
    </ul>
  </Section>
);

const Systems = ({ fleet: { systems, isLeader } }: { readonly fleet: FleetJson }) => {
  if (!isLeader)
    return (
      <Section title="Systems">
        <p class="empty">Another Pod of the provider leads: only that one reads the systems.</p>
      </Section>
    );
  return systems.length === 0 ? null : (
    <Section title="Systems">
      {systems.map((system) => (
        <System key={system.system} system={system} />
      ))}
    </Section>
  );
};

/** Beyond it, a copy-on-write file system becomes slow. */
const fullShare = 0.8;

const System = ({ system: { system, memory, volumes, configs, problem } }: { readonly system: SystemJson }) => (
  <div class="system">
    <h3>
      {system} <span class="note">{configs.join(', ')}</span>
    </h3>
    {problem && <p class="late">{problem}</p>}
    {(memory !== undefined || volumes.length > 0) && (
      <ul class="meters">
        {memory && (
          <li>
            <span class="name">Memory</span>
            <span class="bar none" />
            <span class="figure">{formatBytes(memory.availableBytes)} free</span>
          </li>
        )}
        {volumes.map(({ name, availableBytes, totalBytes, isHealthy }) => {
          const used = totalBytes === undefined ? undefined : 1 - availableBytes / Math.max(1, totalBytes);
          return (
            <li key={name}>
              <span class="name">Pool {name}</span>
              {used === undefined ? (
                <span class="bar none" />
              ) : (
                <Bar
                  share={used}
                  label={`${Math.round(used * 100)}% used`}
                  tone={used > fullShare ? 'attention' : 'neutral'}
                />
              )}
              <span class="figure">
                {formatBytes(availableBytes)} free
                {totalBytes !== undefined && ` of ${formatBytes(totalBytes)}`}
                {!isHealthy && <span class="late">not healthy</span>}
              </span>
            </li>
          );
        })}
      </ul>
    )}
  </div>
);

const AddressPools = ({ pools }: { readonly pools: readonly AddressPoolJson[] }) => (
  <Section title="Addresses">
    <ul class="meters">
      {pools.map(({ pool, configs, total, free }) => (
        <li key={pool}>
          <span class="name">
            {pool} <span class="note">{configs.join(', ')}</span>
          </span>
          {free === undefined ? (
            <span class="bar none" />
          ) : (
            <Bar
              share={1 - free / Math.max(1, total)}
              label={`${total - free} of ${total} in use`}
              tone={free === 0 ? 'unhealthy' : 'neutral'}
            />
          )}
          <span class="figure">{free === undefined ? `${total} in all` : `${free} free of ${total}`}</span>
        </li>
      ))}
    </ul>
  </Section>
);
