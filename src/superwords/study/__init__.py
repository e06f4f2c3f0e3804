"""The paper's blind study: pairs of clouds, a page that asks, a store of votes, what the votes say."""
