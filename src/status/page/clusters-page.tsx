import { type ClusterPageJson, clusterHealths } from '../api-types.ts';
import { plural } from './format.ts';
import { ClusterLink, HealthPill, healthNames } from './parts.tsx';

interface ClustersProps {
  readonly list: ClusterPageJson | undefined;
  /** `text`, `health` and `page`. */
  readonly query: URLSearchParams;
}

const hrefOf = (query: URLSearchParams, change: Readonly<Record<string, string>>): string => {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(change)) {
    if (value === '') next.delete(key);
    else next.set(key, value);
  }
  return `#/clusters${next.size > 0 ? `?${next}` : ''}`;
};

/** The filter is part of the address, so that it can be shared, and that going back undoes it. */
const setFilter = (query: URLSearchParams, change: Readonly<Record<string, string>>): void =>
  location.replace(hrefOf(query, { ...change, page: '' }));

export const ClustersPage = ({ list, query }: ClustersProps) => (
  <>
    <header class="headline">
      <h1 tabIndex={-1}>Clusters</h1>
      <p class="sub">{list ? plural(list.total, 'cluster') : 'Loading'}</p>
    </header>
    <search class="filter">
      <label>
        <span class="hidden">Part of the name, namespace or ProviderConfig</span>
        <input
          type="search"
          placeholder="Name, namespace or ProviderConfig"
          maxLength={100}
          value={query.get('text') ?? ''}
          onInput={({ currentTarget }) => setFilter(query, { text: currentTarget.value })}
        />
      </label>
      <label>
        <span class="hidden">Health</span>
        <select
          value={query.get('health') ?? ''}
          onChange={({ currentTarget }) => setFilter(query, { health: currentTarget.value })}
        >
          <option value="">Any health</option>
          {clusterHealths.map((health) => (
            <option key={health} value={health}>
              {healthNames[health]}
            </option>
          ))}
        </select>
      </label>
    </search>
    {list && <ClusterTable list={list} />}
    {list && list.pages > 1 && <Pages list={list} query={query} />}
  </>
);

const ClusterTable = ({ list }: { readonly list: ClusterPageJson }) =>
  list.total === 0 ? (
    <p class="empty">No cluster matches.</p>
  ) : (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">Health</th>
            <th scope="col">Machines</th>
            <th scope="col">Kubernetes</th>
            <th scope="col">Talos</th>
            <th scope="col">ProviderConfig</th>
          </tr>
        </thead>
        <tbody>
          {list.clusters.map((cluster) => (
            <tr key={`${cluster.namespace}/${cluster.name}`}>
              <th scope="row">
                <ClusterLink {...cluster} />
              </th>
              <td>
                <HealthPill health={cluster.health} />
              </td>
              <td class="number">
                {cluster.readyMachines} of {cluster.machines}
              </td>
              <td class="number">{cluster.kubernetesVersion}</td>
              <td class="number">{cluster.talosVersion}</td>
              <td>{cluster.config}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );

const Pages = ({ list: { page, pages }, query }: { list: ClusterPageJson; query: URLSearchParams }) => (
  <nav class="pages" aria-label="Pages">
    {page > 1 ? <a href={hrefOf(query, { page: String(page - 1) })}>Previous</a> : <span>Previous</span>}
    <span>
      Page {page} of {pages}
    </span>
    {page < pages ? <a href={hrefOf(query, { page: String(page + 1) })}>Next</a> : <span>Next</span>}
  </nav>
);
