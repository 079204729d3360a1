/** In the storage of the tab: it is gone when the tab is closed, and no other page can read it. */
const key = 'token';

export const readToken = (): string | null => sessionStorage.getItem(key);

/** An empty token signs out. */
export function storeToken(token: string): void {
  if (token === '') sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, token);
}
