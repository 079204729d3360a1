import type { CauseJson, ClusterJson, MachineRowJson } from '../api-types.ts';
import { formatBytes, plural } from './format.ts';
import { Age, Cause, Conditions, Events, Fact, HealthPill, Section } from './parts.tsx';
import { ProgressLine } from './progress-line.tsx';

interface ClusterProps {
  readonly cluster: ClusterJson;
  readonly now: number;
}

export const ClusterPage = ({ cluster, now }: ClusterProps) => (
  <>
    <header class="headline">
      <p class="trail">
        <a href="#/clusters">Clusters</a> / {cluster.namespace}
      </p>
      <h1 tabIndex={-1}>
        {cluster.name} <HealthPill health={cluster.health} />
      </h1>
      {cluster.cause && <Cause cause={cluster.cause} now={now} />}
      <dl class="facts">
        <Fact name="Kubernetes">{cluster.kubernetesVersion}</Fact>
        <Fact name="Talos">{cluster.talosVersion}</Fact>
        <Fact name="ProviderConfig">{cluster.config}</Fact>
        <Fact name="Platform">{cluster.platform}</Fact>
        <Fact name="API server">{cluster.endpoint && <code>{cluster.endpoint}</code>}</Fact>
        <Fact name="Age">{cluster.createdAt && <Age since={cluster.createdAt} now={now} />}</Fact>
      </dl>
    </header>
    <Machines cluster={cluster} now={now} />
    <State cluster={cluster} now={now} />
    <Access cluster={cluster} now={now} />
    <Events events={cluster.events} now={now} />
    <Conditions conditions={cluster.conditions} now={now} />
  </>
);

const Machines = ({ cluster: { machineList, machines, readyMachines }, now }: ClusterProps) => (
  <Section title="Machines" note={`${readyMachines} of ${machines} ready`}>
    <ul class="machines">
      {machineList.map((machine) => (
        <MachineItem key={machine.name} machine={machine} now={now} />
      ))}
    </ul>
    {machines > machineList.length && <p class="empty">{machines - machineList.length} more are ready.</p>}
    {machines === 0 && <p class="empty">No machine exists yet.</p>}
  </Section>
);

const MachineItem = ({ machine, now }: { readonly machine: MachineRowJson; readonly now: number }) => {
  const { name, role, phase, address, isReady, cause, current, isOverdue, pending } = machine;
  return (
    <li>
      <div class="who">
        <a href={`#/machines/${name}`} class="name">
          {name}
        </a>
        <span class={`pill ${isReady ? 'ready' : phase === 'Failed' || isOverdue ? 'unhealthy' : 'creating'}`}>
          {phase || 'New'}
        </span>
        <span class="meta">
          {role === 'controlplane' ? 'control plane' : machine.pool}
          {address && ` · ${address}`}
          {machine.kubernetesVersion && ` · Kubernetes ${machine.kubernetesVersion}`}
          {pending && ` · change pending (${pending})`}
        </span>
      </div>
      {current && <ProgressLine plan={current} now={now} isOverdue={isOverdue} />}
      {cause && !isReady && (current ? <Why cause={cause} /> : <Cause cause={cause} now={now} />)}
    </li>
  );
};

/** Below the line of steps, which has the name of the step and its duration. */
const Why = ({ cause: { reason, message } }: { readonly cause: CauseJson }) => (
  <p class="why">
    {reason !== 'StepWaiting' && <code class="reason">{reason}</code>}
    {message.replace(/^[a-z-]+: /, '')}
  </p>
);

const rolloutNames: Readonly<Record<string, string>> = {
  Changing: 'Nodes are being changed',
  Changed: 'Every node was changed',
  Current: 'Up to date',
};

/** Rollout, trust and backup. */
const State = ({ cluster: { rollout, trust, backup }, now }: ClusterProps) => (
  <Section title="Rollout, trust and backup">
    <dl class="facts wide">
      <div>
        <dt>Rollout</dt>
        <dd>
          {rollout ? (rolloutNames[rollout.state] ?? rollout.state) : 'Nothing was changed yet'}
          {rollout && rollout.pendingMachines > 0 && ` · ${plural(rollout.pendingMachines, 'machine')} pending`}
          {rollout?.isPaused && <span class="late">paused</span>}
        </dd>
      </div>
      <div>
        <dt>OIDC trust</dt>
        <dd>
          {trust ? `${trust.updated} of ${plural(trust.total, 'control plane')}` : 'No issuer is requested'}
          {trust?.message && <p>{trust.message}</p>}
          {trust?.requests
            .filter(({ state }) => state !== 'Trusted')
            .map(({ request, state, message }) => (
              <p key={request}>
                <code>{request}</code> {state}. {message}
              </p>
            ))}
        </dd>
      </div>
      <div>
        <dt>Backup</dt>
        <dd>
          {!backup && 'Not scheduled'}
          {backup && !backup.lastSuccess && 'None is complete yet'}
          {backup?.lastSuccess && (
            <>
              <Age since={backup.lastSuccess} now={now} /> old
              {backup.bytes !== undefined && ` · ${formatBytes(backup.bytes)}`}
            </>
          )}
          {backup && backup.failures > 0 && (
            <>
              <span class="late">failed {plural(backup.failures, 'time')}</span>
              <p>{backup.message}</p>
            </>
          )}
        </dd>
      </div>
    </dl>
  </Section>
);

const kindNames = { token: 'Token', oidc: 'OIDC', none: '' } as const;

const Access = ({ cluster: { access }, now }: ClusterProps) => (
  <Section title="Access" note={access.total}>
    {access.total === 0 ? (
      <p class="empty">No AccessRequest names this cluster.</p>
    ) : (
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">AccessRequest</th>
              <th scope="col">Kind</th>
              <th scope="col">State</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {access.first.map(({ namespace, name, kind, issuer, phase, cause }) => (
              <tr key={`${namespace}/${name}`}>
                <th scope="row">
                  <span class="namespace">{namespace}/</span>
                  {name}
                </th>
                <td>
                  {kindNames[kind]} {issuer && <code>{issuer}</code>}
                </td>
                <td>
                  <span
                    class={`dot ${phase === 'Granted' ? 'ready' : phase === 'Denied' ? 'unhealthy' : 'creating'}`}
                  />
                  {phase || 'New'}
                </td>
                <td>{cause && <Cause cause={cause} now={now} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </Section>
);
