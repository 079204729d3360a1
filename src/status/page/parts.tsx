import type { ComponentChildren } from 'preact';
import type { CauseJson, ClusterHealth, ConditionJson, EventJson } from '../api-types.ts';
import { formatClock, formatSeconds, secondsBetween } from './format.ts';

export const healthNames: Readonly<Record<ClusterHealth, string>> = {
  ready: 'Ready',
  attention: 'Needs attention',
  creating: 'Being created',
  unhealthy: 'Not ready',
  deleting: 'Being deleted',
};

export const HealthPill = ({ health }: { readonly health: ClusterHealth }) => (
  <span class={`pill ${health}`}>{healthNames[health]}</span>
);

export const clusterPath = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `#/clusters/${namespace}/${name}`;

export const ClusterLink = (ref: { readonly namespace: string; readonly name: string }) => (
  <a href={clusterPath(ref)} class="name">
    <span class="namespace">{ref.namespace}/</span>
    {ref.name}
  </a>
);

/** How long ago a time is. */
export const Age = ({ since, now }: { readonly since: string | undefined; readonly now: number }) =>
  since ? (
    <time dateTime={since} title={new Date(since).toLocaleString()}>
      {formatSeconds(secondsBetween(since, now))}
    </time>
  ) : null;

/** Why something is as it is. */
export const Cause = ({ cause, now }: { readonly cause: CauseJson; readonly now: number }) => (
  <div class="cause">
    <code class="reason">{cause.reason}</code>
    {cause.since && (
      <span class="since">
        for <Age since={cause.since} now={now} />
      </span>
    )}
    <p>{cause.message}</p>
  </div>
);

interface BarProps {
  /** From 0 to 1. */
  readonly share: number;
  readonly label: string;
  readonly tone?: string;
}

export const Bar = ({ share, label, tone = 'neutral' }: BarProps) => (
  <span class="bar" role="img" aria-label={label}>
    <span class={`fill ${tone}`} style={{ width: `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%` }} />
  </span>
);

interface SectionProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
}

export const Section = ({ title, note, children }: SectionProps) => {
  const id = title.toLowerCase().replace(/[^a-z]+/g, '-');
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {title}
        {note !== undefined && <span class="note">{note}</span>}
      </h2>
      {children}
    </section>
  );
};

/** A fact with its name; nothing without a value. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) =>
  children === undefined || children === '' ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );

export const Conditions = ({ conditions, now }: { conditions: readonly ConditionJson[]; now: number }) => (
  <Section title="Conditions">
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Condition</th>
            <th scope="col">State</th>
            <th scope="col">For</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          {conditions.map(({ type, status, reason, message, since }) => (
            <tr key={type}>
              <th scope="row">{type}</th>
              <td>
                <span class={`dot ${status === 'True' ? 'ready' : status === 'False' ? 'unhealthy' : 'deleting'}`} />
                {status}
              </td>
              <td class="number">
                <Age since={since} now={now} />
              </td>
              <td class="message">
                {reason !== 'AsExpected' && <code class="reason">{reason}</code>} {message}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </Section>
);

export const Events = ({ events, now }: { events: readonly EventJson[]; now: number }) => (
  <Section title="Events">
    {events.length === 0 ? (
      <p class="empty">None. Kubernetes keeps Events for an hour.</p>
    ) : (
      <ol class="events">
        {events.map(({ type, reason, message, at, count }) => (
          <li key={`${reason} ${message}`} class={type === 'Warning' ? 'warning' : ''}>
            <time dateTime={at}>{formatClock(at, now)}</time>
            <div>
              <code class="reason">{reason}</code>
              {count > 1 && <span class="since">{count} times</span>}
              <p>{message}</p>
            </div>
          </li>
        ))}
      </ol>
    )}
  </Section>
);
