import { type ComponentChildren, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ClusterJson, ClusterPageJson, FleetJson, MachineJson } from '../api-types.ts';
import { ClusterPage } from './cluster-page.tsx';
import { ClustersPage } from './clusters-page.tsx';
import { describeFleet, FleetPage } from './fleet-page.tsx';
import { useNow, useRoute, useView } from './hooks.ts';
import { MachinePage } from './machine-page.tsx';
import { healthNames } from './parts.tsx';
import { SignIn } from './sign-in.tsx';
import type { ViewState } from './watch-view.ts';

type AnyView = FleetJson | ClusterPageJson | ClusterJson | MachineJson;

const connectionNames: Readonly<Record<ViewState<unknown>['connection'], string>> = {
  opening: 'Connecting',
  live: 'Live',
  polling: 'Updated every 10 s',
  lost: 'Connection lost',
  gone: '',
  'sign-in': '',
};

/** A view of the API for each address of the page. */
const viewOf = (route: string): string => (route === '' ? 'fleet' : route);

const App = () => {
  const route = useRoute();
  const [attempt, setAttempt] = useState(0);
  const state = useView<AnyView>(viewOf(route), attempt);
  const now = useNow(state.clockOffset);
  const kind = route.split(/[/?]/)[0] ?? '';
  useFocusOnHeading(route.split('?')[0] ?? '', state.data !== undefined || state.connection === 'sign-in');
  return (
    <>
      <a class="skip" href={`#/${route}`} onClick={focusMain}>
        Skip to the content
      </a>
      <TopBar kind={kind} connection={state.connection} />
      <main>
        {state.connection === 'sign-in' ? (
          <SignIn problem={attempt > 0 ? state.problem : undefined} onToken={() => setAttempt(attempt + 1)} />
        ) : state.connection === 'gone' ? (
          <Missing problem={state.problem} />
        ) : (
          <Content route={route} data={state.data} now={now} />
        )}
      </main>
      <p class="hidden" aria-live="polite">
        {state.data && announce(route, state.data)}
      </p>
    </>
  );
};

const focusMain = (event: Event): void => {
  event.preventDefault();
  document.querySelector<HTMLElement>('h1')?.focus();
};

/** After a change of the address, users of keyboards and screen readers continue at the new heading. */
function useFocusOnHeading(route: string, isShown: boolean): void {
  const seen = useRef(route);
  useEffect(() => {
    if (!isShown || seen.current === route) return;
    seen.current = route;
    scrollTo(0, 0);
    document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  }, [route, isShown]);
}

const TopBar = ({ kind, connection }: { kind: string; connection: ViewState<unknown>['connection'] }) => (
  <header class="top">
    <div>
      <a href="#/" class="brand">
        Talos clusters
      </a>
      <nav aria-label="Pages of the status">
        <Tab href="#/" isHere={kind === ''}>
          Fleet
        </Tab>
        <Tab href="#/clusters" isHere={kind === 'clusters' || kind === 'machines'}>
          Clusters
        </Tab>
      </nav>
      <span class={`connection ${connection}`} role="status">
        {connectionNames[connection]}
      </span>
    </div>
  </header>
);

const Tab = ({ href, isHere, children }: { href: string; isHere: boolean; children: ComponentChildren }) => (
  <a href={href} aria-current={isHere ? 'page' : undefined}>
    {children}
  </a>
);

const Missing = ({ problem }: { readonly problem: string | undefined }) => (
  <header class="headline">
    <h1 tabIndex={-1}>Not found</h1>
    <p class="sub">{problem ?? 'There is no such object of this provider, or it was deleted.'}</p>
    <p>
      <a href="#/">Back to the fleet</a>
    </p>
  </header>
);

interface ContentProps {
  readonly route: string;
  readonly data: AnyView | undefined;
  readonly now: number;
}

const Content = ({ route, data, now }: ContentProps) => {
  const [path = '', query = ''] = route.split('?');
  const parts = path.split('/');
  if (path === 'clusters')
    return <ClustersPage list={data as ClusterPageJson | undefined} query={new URLSearchParams(query)} />;
  if (!data) return <p class="empty">Loading</p>;
  if (path === '') return <FleetPage fleet={data as FleetJson} now={now} />;
  return parts[0] === 'machines' ? (
    <MachinePage machine={data as MachineJson} now={now} />
  ) : (
    <ClusterPage cluster={data as ClusterJson} now={now} />
  );
};

/** What a screen reader says when it changes. It has no times, which change every second. */
function announce(route: string, data: AnyView): string {
  if (route === '') return describeFleet(data as FleetJson);
  if ('health' in data) return `${data.name}: ${healthNames[data.health]}, ${data.readyMachines} machines ready`;
  if ('plans' in data) {
    const step = data.plans[0]?.steps.find(({ state }) => state === 'current')?.name;
    return `${data.name}: ${data.phase}${step ? `, step ${step}` : ''}`;
  }
  return '';
}

const root = document.getElementById('page');
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
