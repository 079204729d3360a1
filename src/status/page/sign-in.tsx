import { storeToken } from './token.ts';

interface SignInProps {
  readonly problem: string | undefined;
  /** Called when a token was given. */
  readonly onToken: () => void;
}

export const SignIn = ({ problem, onToken }: SignInProps) => (
  <form
    class="sign-in"
    onSubmit={(event) => {
      event.preventDefault();
      storeToken(String(new FormData(event.currentTarget).get('token') ?? '').trim());
      onToken();
    }}
  >
    <h1 tabIndex={-1}>Sign in</h1>
    <p>
      The page needs a token of the platform cluster. Its user must be allowed to list every kind that the page shows,
      for example by the ClusterRole <code>cluster-provider-talos-status-reader</code>.
    </p>
    <pre>kubectl -n NAMESPACE create token SERVICEACCOUNT</pre>
    <label>
      Token
      <input name="token" type="password" autoComplete="off" spellcheck={false} maxLength={8192} required />
    </label>
    {problem && (
      <p class="late" role="alert">
        {problem}
      </p>
    )}
    <button type="submit" class="button">
      Sign in
    </button>
    <p class="empty">The token stays in this tab until it is closed.</p>
  </form>
);
